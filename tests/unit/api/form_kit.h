#pragma once

#include "base/base.h"

/* Forms for POST /v1/execute and a guest that says back what came of them. */

/* Parts of a body with the boundary XX. */
#define FORM_TYPE "multipart/form-data; boundary=XX"
#define FIELD(name, value)                                                                         \
	"--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"
#define FILE_PART(name, value)                                                                     \
	"--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" name "\"\r\n"         \
	"Content-Type: application/octet-stream\r\n\r\n" value "\r\n"
#define END "--XX--\r\n"
#define CODE FIELD("code", "c")

/* A file or a field that is not at its end. */
#define OPEN_FILE(name) "--XX\r\nContent-Disposition: form-data; name=f; filename=" name "\r\n\r\n"
#define OPEN_FIELD(name) "--XX\r\nContent-Disposition: form-data; name=" name "\r\n\r\n"

/* api_fixture's, and a test fails that leaves a file in the store. */
void form_setup(void);
void form_teardown(void);
/* The fixture once more, with a setting. */
void form_set(const char *key, const char *value);
/* Files in the store, half-written ones included. */
int form_stored(void);
/*
 * Sends the body to a container whose output is: timeout_ms, last_line_interactive, " args=" "
 * argv=" " env=" (each string followed by |), each file as "[path]content", " stdin=". Returns the
 * status.
 */
int form_send(const char *body, size_t len);
