#pragma once

#include "base/base.h"
#include "web/route.h"

struct store;

/* The route table. */
extern const struct route api_routes[];
extern const size_t api_routes_count;

int api_execute(struct request *req, struct response *res, struct route_times *times,
		struct err *err);
int api_health(struct request *req, struct response *res, struct route_times *times,
	       struct err *err);
int api_ready(struct request *req, struct response *res, struct route_times *times,
	      struct err *err);
int api_docker_status(struct request *req, struct response *res, struct route_times *times,
		      struct err *err);
int api_metrics(struct request *req, struct response *res, struct route_times *times,
		struct err *err);

int api_files_upload(struct request *req, struct response *res, struct route_times *times,
		     struct err *err);
int api_files_list(struct request *req, struct response *res, struct route_times *times,
		   struct err *err);
int api_files_download(struct request *req, struct response *res, struct route_times *times,
		       struct err *err);
int api_files_delete(struct request *req, struct response *res, struct route_times *times,
		     struct err *err);

/* Whose files they are, as long as there are no keys that say so. */
#define API_TENANT "local"

/*
 * Opens the file store of the settings for this process, with its limits, if it is not open yet:
 * each handler that works in it calls this first, so that one that could not be opened at the
 * start of a worker harms no other route and is found again when it is back. ERR_INTERNAL.
 */
int api_open(struct err *err);
void api_close(void);
const struct store *api_store(void);

#define API_VERSION "0.4.4"
