/*
 * The route table: every path the service answers, with its method, the content types it takes and
 * its handler. The worker's loop and the tests walk it.
 */
#include "api/api.h"

#include "api/keeper_path.h"
#include "base/alloc.h"
#include "conf.h"
#include "limits.h"
#include "store/store.h"

static const char *const execute_types[] = { "application/json", "application/*+json",
					     "multipart/form-data", NULL };
static const char *const form_types[] = { "multipart/form-data", NULL };

const struct route api_routes[] = {
	{ METHOD_POST, "/v1/execute", execute_types, api_execute },
	{ METHOD_POST, "/v1/files", form_types, api_files_upload },
	{ METHOD_GET, "/v1/files", NULL, api_files_list },
	{ METHOD_GET, "/v1/files/{id}", NULL, api_files_download },
	{ METHOD_DELETE, "/v1/files/{id}", NULL, api_files_delete },
	{ METHOD_GET, "/health", NULL, api_health },
	{ METHOD_GET, "/ready", NULL, api_ready },
	{ METHOD_GET, "/metrics", NULL, api_metrics },
	{ METHOD_GET, "/v1/docker/status", NULL, api_docker_status },
	{ METHOD_GET, "/api/tools/docker/status", NULL, api_docker_status },
};
const size_t api_routes_count = ARRAY_SIZE(api_routes);

/* One a process, as conf is: every handler works in it. */
static struct store store = STORE_INIT;

int api_open(struct err *err)
{
	const struct store_limits limits = {
		.total_bytes = conf->store_quota_mb << 20,
		.tenant_bytes = conf->files_quota_mb << 20,
		.total_files = LIMIT_STORE_FILES,
		.tenant_files = LIMIT_TENANT_FILES,
		.total_name = "STORE_QUOTA_MB",
		.tenant_name = "FILES_QUOTA_MB",
	};

	if (store.fd >= 0)
		return 0;
	return store_open(&store, conf->storage_dir, &limits, err);
}

void api_close(void)
{
	store_clear(&store);
}

const struct store *api_store(void)
{
	return &store;
}

char *keeper_path(void)
{
	return xasprintf("%s/keeper.sock", conf->run_dir);
}
