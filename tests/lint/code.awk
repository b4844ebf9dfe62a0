# SPDX-License-Identifier: ISC
# Prints file:line:text of C without comments and the contents of strings, so
# that a word found in the output is code. Runs in: the lint tests.

FNR == 1 { inside = 0 }

{
	out = ""
	rest = $0
	while (rest != "") {
		if (inside) {
			end = index(rest, "*/")
			if (end == 0)
				break
			rest = substr(rest, end + 2)
			inside = 0
		} else if (substr(rest, 1, 2) == "/*") {
			rest = substr(rest, 3)
			inside = 1
		} else if (match(rest, /^"(\\.|[^"\\])*"/) ||
		    match(rest, /^'(\\.|[^'\\])*'/)) {
			# includes keep their name
			out = out ($0 ~ /^#include/ ? \
			    substr(rest, 1, RLENGTH) : "\"\"")
			rest = substr(rest, RLENGTH + 1)
		} else {
			out = out substr(rest, 1, 1)
			rest = substr(rest, 2)
		}
	}
	if (out ~ /[^ \t]/)
		print FILENAME ":" FNR ":" out
}
