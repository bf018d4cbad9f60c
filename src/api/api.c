/*
 * The route table: every path the service answers, with its method, the content types it takes and
 * its handler. The worker's loop and the tests walk it.
 */
#include "api/api.h"

#include "api/keeper_path.h"
#include "base/alloc.h"
#include "conf.h"

static const char *const json_types[] = { "application/json", "application/*+json", NULL };

const struct route api_routes[] = {
	{ METHOD_POST, "/v1/execute", json_types, api_execute },
	{ METHOD_GET, "/health", NULL, api_health },
	{ METHOD_GET, "/ready", NULL, api_ready },
	{ METHOD_GET, "/v1/docker/status", NULL, api_docker_status },
	{ METHOD_GET, "/api/tools/docker/status", NULL, api_docker_status },
};
const size_t api_routes_count = ARRAY_SIZE(api_routes);

char *keeper_path(void)
{
	return xasprintf("%s/keeper.sock", conf->run_dir);
}
