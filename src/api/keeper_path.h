#pragma once

/* The keeper's socket below RUN_DIR; the caller's. */
char *keeper_path(void);
