#pragma once

#include "base/base.h"

struct err;

/*
 * Lists of MIME patterns as operators write them: "image/png", "text/" with a star behind the
 * slash, or a star alone for everything. Separators are commas and blanks; case does not matter.
 * What follows a ';' in a type (a parameter) is not looked at.
 */

/* Is the list well-formed (for the start of the service)? ERR_INVALID quotes the first pattern that
 * is not. */
int mimelist_check(const char *list, struct err *err);
/* The first pattern of the list that covers the type, as a span in the list, or NULL. */
const char *mimelist_find(const char *list, const char *type, size_t *out_len);
/*
 * May content of this type be stored? `deny` wins over `allow`; an empty `allow` is everything.
 * NULL is empty. ERR_MEDIA_TYPE names the type that was found and the rule: "UPLOAD_DENY".
 */
int mimelist_permit(const char *allow, const char *deny, const char *type, struct err *err);
