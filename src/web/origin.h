#pragma once

struct err;
struct request;

/*
 * Pages of other sites can make a browser POST forms (and bodies without a type) to any address
 * without asking first. This refuses those: ERR_CROSS_SITE when Sec-Fetch-Site says another site,
 * or, from a browser without that header, when Origin is not the host that was called. Requests
 * that a browser asks about before it sends them (JSON, other methods), and those of programs,
 * pass.
 */
int origin_check(const struct request *req, struct err *err);
