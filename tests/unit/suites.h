#pragma once

#include <check.h>

/*
 * Every suite, named after its folder and module: tests/unit/base/test_err.c defines
 * suite_base_err(). A new test file adds its line here.
 */
#define SUITES(X)                                                                                  \
	X(base_alloc)                                                                              \
	X(base_clock)                                                                              \
	X(base_err)                                                                                \
	X(base_ident)                                                                              \
	X(base_io)                                                                                 \
	X(base_log)                                                                                \
	X(base_num)                                                                                \
	X(base_path)                                                                               \
	X(base_strbuf)                                                                             \
	X(base_tally)                                                                              \
	X(base_utf8)                                                                               \
	X(wire_base64)                                                                             \
	X(wire_disposition)                                                                        \
	X(wire_dstream)                                                                            \
	X(wire_frame)                                                                              \
	X(wire_framer)                                                                             \
	X(wire_json)                                                                               \
	X(wire_jsonscan)                                                                           \
	X(wire_leasemsg)                                                                           \
	X(wire_schema)                                                                             \
	X(wire_sha256)                                                                             \
	X(web_channel)                                                                             \
	X(web_origin)                                                                              \
	X(web_request)                                                                             \
	X(web_response)                                                                            \
	X(web_route)                                                                               \
	X(wire_multipart)                                                                          \
	X(wire_multipart_names)                                                                    \
	X(wire_query)                                                                              \
	X(store_blob)                                                                              \
	X(store_blob_end)                                                                          \
	X(store_crash)                                                                             \
	X(store_links)                                                                             \
	X(store_list)                                                                              \
	X(store_quota)                                                                             \
	X(store_mime)                                                                              \
	X(box_lease)                                                                               \
	X(box_run)                                                                                 \
	X(box_run_lies)                                                                            \
	X(api_endings)                                                                             \
	X(api_execute)                                                                             \
	X(api_output)                                                                              \
	X(api_fields)                                                                              \
	X(api_metrics)                                                                             \
	X(api_page)                                                                                \
	X(api_page_execute)                                                                        \
	X(api_page_files)                                                                          \
	X(api_files)                                                                               \
	X(api_form)                                                                                \
	X(api_form_refusals)                                                                       \
	X(proc_filter)                                                                             \
	X(proc_keeper)                                                                             \
	X(proc_keeper_admit)                                                                       \
	X(proc_keeper_pool)                                                                        \
	X(proc_keeper_refill)                                                                      \
	X(metrics)                                                                                 \
	X(proc_setup)

#define DECLARE(name) Suite *suite_##name(void);
DECLARE(conf)
SUITES(DECLARE)
#undef DECLARE
