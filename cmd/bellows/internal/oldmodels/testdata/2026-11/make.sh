#!/bin/sh
# The commands that made this folder, at the commit in README.md. They are not for calling again: see ../README.md.
set -eu
cd "$(dirname "$0")"
awk 'BEGIN { s = 1; for (u = 0; u < 30; u++) for (i = 0; i < 20; i++) { s = (s * 1103515245 + 12345) % 2147483648
	if (s % 97 < 40) printf "u%d\ti%d\t%.1f\n", u, i, 1 + (u * 7 + i * 3) % 5 * 0.8 + (s % 5) * 0.2 } }' > ratings.tsv
awk 'BEGIN { s = 2; print "width,colour,kind"; for (r = 0; r < 120; r++) { s = (s * 1103515245 + 12345) % 2147483648
	k = r % 3; printf "%s,%s,%s\n", r % 17 == 5 ? "" : k + (s % 83) / 100, substr("redblugrn", (k + (s % 71 < 20)) % 3 * 3 + 1, 3), substr("oakashelm", k * 3 + 1, 3) } }' > rows.csv
awk 'BEGIN { s = 3; for (r = 0; r < 150; r++) { s = (s * 1103515245 + 12345) % 2147483648; y = s % 89 < 44
	printf "%d", y ? 1 : -1; for (j = 1 + r % 3; j < 40; j += 3 + s % 7) printf " %d:%.2f", j * 50000, y == j % 2 ? 1 + j / 40 : 0.25; print "" } }' > rows.svm
awk 'BEGIN { s = 4; split("sun rain wind cloud snow bread milk cheese apple salt goal match team ball score", w); for (d = 0; d < 40; d++) { t = d % 3 * 5
	for (n = 0; n < 12; n++) { s = (s * 1103515245 + 12345) % 2147483648; printf "%s%s", n ? " " : "", w[(s % 101 < 80 ? t : 0) + int(s / 128) % 5 + 1] } print "" } }' > words.txt
bellows="${BELLOWS:-bellows}"
$bellows train mf ratings.tsv --epochs 5 --set rank=4 --out mf
$bellows train mf ratings.tsv --epochs 3 --set loss=weighted --set rank=4 --out mf-weighted
$bellows train mlr rows.csv --label kind --epochs 5 --out mlr
$bellows train mlr rows.svm --epochs 5 --out mlr-wide
$bellows train lda words.txt --epochs 5 --set topics=3 --out lda
rm -f */run.json */metrics.json */events.jsonl
