#pragma once

struct guest;

/* Sends new and changed regular files of the workspace, and SKIP for what is not sent, in the order
 * of their names. */
void files_send(struct guest *g);
