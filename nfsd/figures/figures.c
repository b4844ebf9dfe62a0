/* SPDX-License-Identifier: ISC */
/*
 * The format of Prometheus: see figures.h.
 * Runs in: nfsd parent.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "base/text.h"
#include "nfsd/figures/figures.h"

void
figures_put(struct figures *f, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(f->at + f->len, f->size - f->len, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < f->size - f->len)
		f->len += (size_t)n;
	else
		f->at[f->len] = '\0';
}

void
figures_head(struct figures *f, const char *name, const char *type,
    const char *help)
{
	figures_put(f, "# HELP tern_%s %s\n# TYPE tern_%s %s\n", name, help,
	    name, type);
}

void
figures_one(struct figures *f, const char *name, const char *type,
    const char *help, uint64_t value)
{
	figures_head(f, name, type, help);
	figures_put(f, "tern_%s %llu\n", name, (unsigned long long)value);
}

/*
 * The last bucket is the sum of all, not the number of calls: both were read
 * while calls came in, and a histogram never falls.
 */
void
figures_histogram(struct figures *f, const char *name, const char *labels,
    const uint64_t *buckets, size_t n, uint64_t calls, uint64_t ns)
{
	uint64_t below = 0;
	size_t i;

	for (i = 0; i < n - 1; i++) {
		below += buckets[i];
		figures_put(f, "tern_%s_bucket{%s,le=\"%g\"} %llu\n", name,
		    labels, (double)(UINT64_C(1) << i) / 1e6,
		    (unsigned long long)below);
	}
	below += buckets[i];
	if (below < calls)
		below = calls;
	figures_put(f, "tern_%s_bucket{%s,le=\"+Inf\"} %llu\n", name, labels,
	    (unsigned long long)below);
	figures_put(f, "tern_%s_sum{%s} %.9f\n", name, labels,
	    (double)ns / 1e9);
	figures_put(f, "tern_%s_count{%s} %llu\n", name, labels,
	    (unsigned long long)below);
}

/* The bytes of the next character that can stand in a label; 0: none. */
static size_t
plain(const uint8_t *in, size_t left)
{
	uint32_t c;
	size_t n = name_get_utf8(in, left, &c);

	return n > 0 && c >= ' ' && c != '\\' && (c < 0x7f || c > 0x9f) ? n : 0;
}

const char *
figures_label(char *out, const void *bytes, size_t len)
{
	const uint8_t *in = bytes;
	size_t i = 0, n = 0, k;

	while (i < len) {
		k = plain(in + i, len - i);
		if (k == 0) { /* the backslash of the escape is escaped */
			out[n++] = '\\';
			text_escape(out + n, in[i++]);
			n += TEXT_ESCAPED;
			continue;
		}
		if (in[i] == '"')
			out[n++] = '\\';
		memcpy(out + n, in + i, k);
		n += k;
		i += k;
	}
	out[n] = '\0';
	return out;
}
