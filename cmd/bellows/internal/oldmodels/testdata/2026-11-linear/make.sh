#!/bin/sh
# The commands that made this folder. They are not for calling again: see ../README.md.
set -eu
cd "$(dirname "$0")"
awk 'BEGIN { s = 5; print "rooms,floor,heating,rent"; for (r = 0; r < 80; r++) { s = (s * 1103515245 + 12345) % 2147483648
	n = 1 + s % 61 % 5; f = int(s / 64) % 7; h = int(s / 512) % 3; printf "%d,%s,%s,%d\n", n, r % 13 == 4 ? "" : f, substr("gasoil...", h * 3 + 1, 3), 300 + 250 * n + 12 * f - 40 * h + s % 83 } }' > flats.csv
awk 'BEGIN { s = 6; print "kind,width,height"; for (r = 0; r < 90; r++) { s = (s * 1103515245 + 12345) % 2147483648
	k = s % 89 < 40; printf "%s,%.2f,%.2f\n", k == (s % 71 > 6) ? "ash" : "oak", k + (s % 83) / 60, (1 - k) + (s % 79) / 70 } }' > kinds.csv
awk 'BEGIN { s = 7; for (r = 0; r < 150; r++) { s = (s * 1103515245 + 12345) % 2147483648; y = s % 89 < 44
	printf "%d", y ? 1 : -1; for (j = 1 + r % 3; j < 40; j += 3 + s % 7) printf " %d:%.2f", j * 50000, y == j % 2 ? 1 + j / 40 : 0.25; print "" } }' > rows.svm
bellows="${BELLOWS:-bellows}"
$bellows train linear flats.csv --label rent --out numbers
$bellows train linear kinds.csv --out classes
$bellows train linear rows.svm --set loss=svm --out wide
rm -f */run.json */metrics.json */events.jsonl
