// The peer of command gemm: OpenBLAS on one thread behind a line protocol.
// A request is "form m n k calls" with form NN, NT or TN; the answer is "flop wall cpu", times in seconds.
#define _POSIX_C_SOURCE 200809L
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern void openblas_set_num_threads(int);

static double now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static float *matrix(long n) {
	float *x = aligned_alloc(64, (4 * n + 63) / 64 * 64);
	if (!x)
		exit(1);
	for (long i = 0; i < n; i++)
		x[i] = rand() / (float)RAND_MAX - 0.5f;
	return x;
}

int main(void) {
	char line[256], form[8];
	openblas_set_num_threads(1);
	while (fgets(line, sizeof line, stdin)) {
		int m, n, k;
		long calls;
		if (sscanf(line, "%7s %d %d %d %ld", form, &m, &n, &k, &calls) != 5) {
			puts("error the request is not: form m n k calls");
			fflush(stdout);
			continue;
		}
		int ta = form[0] == 'T', tb = form[1] == 'T';
		float *a = matrix((long)m * k), *b = matrix((long)k * n), *c = matrix((long)m * n);
		double wall = 0, cpu = 0;
		for (long i = -1; i < calls; i++) { // the first call is not counted
			if (i == 0)
				wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
			cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1, a,
			            ta ? m : k, b, tb ? k : n, 0, c, n);
		}
		wall = now(CLOCK_MONOTONIC) - wall, cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		printf("%.0f %.9f %.9f\n", 2.0 * m * n * k * calls, wall, cpu);
		fflush(stdout);
		free(a), free(b), free(c);
	}
	return 0;
}
