#pragma once

/* The labels on everything that the service makes in an engine, and their fixed values. */
#define NAME_OWNER "com.belljar.owner"
#define NAME_OWNER_VALUE "belljar"
#define NAME_ROLE "com.belljar.role"
#define NAME_ROLE_JOB "job"
#define NAME_ROLE_SETUP "setup" /* helper that fills the guest volume: created, never started */
#define NAME_ROLE_GUEST "guest" /* the volume itself */
#define NAME_INSTANCE "com.belljar.instance"
#define NAME_DEADLINE                                                                              \
	"com.belljar.deadline" /* seconds since 1970: anybody may remove it afterwards */
#define NAME_TENANT "com.belljar.tenant"
#define NAME_SPEC "com.belljar.spec" /* hash of the recipe without the deadline */

/* On images, set when they are built. */
#define NAME_IMAGE_VERSION "com.belljar.version"
