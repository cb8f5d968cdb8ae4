// The peer of command linear that is LIBLINEAR itself: its train behind a line protocol, so that its time is that of the solver, without reading. Fields of a
// request are separated by blanks; an answer is numbers separated by blanks, or "error" and a sentence.
//   read FILE FEATURES              read a LIBSVM file, with a bias of 1 as the last feature -> rows
//   train SOLVER END TIMES MODEL    train so often with C 1, each from the same random numbers, and save the last model -> TIMES wall cpu
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <linear.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void quiet(const char *text) { (void)text; }

static struct problem rows;
static struct feature_node *nodes;

static void *grown(void *p, size_t n, size_t size) {
	p = realloc(p, n * size);
	if (!p)
		exit(1);
	return p;
}

// Answers what is wrong, or 0. A row ends with an index of -1, as train wants it.
static const char *read_rows(const char *path, int features) {
	FILE *f = fopen(path, "r");
	if (!f)
		return "the file cannot be read";
	char *line = 0;
	size_t size = 0, used = 0, room = 0, most = 0, *first = 0;
	rows.l = 0;
	while (getline(&line, &size, f) > 0) {
		if ((size_t)rows.l == most) {
			most = 2 * most + 1024;
			rows.y = grown(rows.y, most, sizeof *rows.y), first = grown(first, most, sizeof *first);
		}
		char *at = line;
		rows.y[rows.l] = strtod(at, &at);
		first[rows.l++] = used;
		for (;;) {
			if (used + 3 > room)
				room = 2 * room + 4096, nodes = grown(nodes, room, sizeof *nodes);
			while (isspace((unsigned char)*at))
				at++;
			if (!*at)
				break;
			char *colon;
			long index = strtol(at, &colon, 10);
			if (*colon != ':' || index < 1 || index > features)
				return "a row is not: label index:value ...";
			nodes[used].index = (int)index;
			nodes[used++].value = strtod(colon + 1, &at);
			if (at == colon + 1)
				return "a row is not: label index:value ...";
		}
		nodes[used].index = features + 1, nodes[used++].value = 1;
		nodes[used++].index = -1;
	}
	fclose(f), free(line);
	rows.n = features + 1, rows.bias = 1;
	rows.x = grown(rows.x, rows.l + 1, sizeof *rows.x);
	for (int i = 0; i < rows.l; i++)
		rows.x[i] = nodes + first[i];
	free(first);
	return 0;
}

int main(void) {
	char line[4096], path[4096];
	set_print_string_function(quiet);
	while (fgets(line, sizeof line, stdin)) {
		struct parameter how = {.C = 1, .p = 0.1};
		int features, times;
		const char *wrong = "the request is not: read FILE FEATURES, or train SOLVER END TIMES MODEL";
		if (sscanf(line, "read %4095s %d", path, &features) == 2 && features > 0) {
			if (!(wrong = read_rows(path, features)))
				printf("%d\n", rows.l);
		} else if (sscanf(line, "train %d %lf %d %4095s", &how.solver_type, &how.eps, &times, path) == 4 && times > 0 && rows.l > 0 &&
		           !(wrong = check_parameter(&rows, &how))) {
			struct model *m = 0;
			double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
			for (int i = 0; i < times; i++) {
				if (m)
					free_and_destroy_model(&m);
				srand(1);
				m = train(&rows, &how);
			}
			wall = now(CLOCK_MONOTONIC) - wall, cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
			if (save_model(path, m))
				wrong = "the model cannot be written";
			else
				printf("%d %.9f %.9f\n", times, wall, cpu);
			free_and_destroy_model(&m);
		}
		if (wrong)
			printf("error %s\n", wrong);
		fflush(stdout);
	}
	return 0;
}
