#pragma once

#include "base/base.h"
#include "web/route.h"

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

#define API_VERSION "0.4.4"
