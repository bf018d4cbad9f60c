/*
 * Runs a fuzz target over files, with any compiler: the corpus is part of the ordinary tests. Each
 * input lies in a block of its exact size, so that a sanitizer sees a read beyond it.
 */
#include "fuzz/fuzz.h"

#define INPUT_MAX (1 << 20)

static int replay(const char *path)
{
	AUTO_FREE uint8_t *data = malloc(INPUT_MAX), *exact = NULL;
	FILE *f = fopen(path, "rb");
	size_t size;

	if (!f || !data) {
		fprintf(stderr, "cannot read %s\n", path);
		return -1;
	}
	size = fread(data, 1, INPUT_MAX, f);
	fclose(f);
	exact = malloc(MAX(size, (size_t)1));
	if (!exact)
		return -1;
	memcpy(exact, data, size);
	fprintf(stderr, "%s\n", path);
	return LLVMFuzzerTestOneInput(exact, size);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (replay(argv[i]) != 0)
			return EXIT_FAILURE;
	}
	return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
