/* SPDX-License-Identifier: ISC */
/*
 * The reports of the exports parser, at most EXPORTS_REPORTS_MAX.
 * Runs in: wherever exports_parse() does.
 */
#include <stdarg.h>
#include <stdio.h>

#include "exports/client.h"
#include "exports/parse.h"

#define MESSAGE_MAX (EXPORTS_PATH_MAX + 576)

const struct exports_at exports_top = { .line = 1, .column = 1 };

static void report(struct exports_parser *, enum exports_severity,
    struct exports_at, const char *fmt, va_list) PRINTF_LIKE(4, 0);

static void
report(struct exports_parser *p, enum exports_severity severity,
    struct exports_at at, const char *fmt, va_list ap)
{
	const struct exports_hooks *hooks = p->hooks;
	const char *file = at.source != NULL ? at.source->name : NULL;
	char message[MESSAGE_MAX];

	if (++p->reports > EXPORTS_REPORTS_MAX || hooks->report == NULL)
		return;
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	hooks->report(hooks->arg, severity, file, at.line, at.column, message);
	if (p->reports == EXPORTS_REPORTS_MAX)
		hooks->report(hooks->arg, severity, file, at.line, at.column,
		    "too many problems: the rest is not shown");
}

void
exports_error(struct exports_parser *p, struct exports_at at, const char *fmt,
    ...)
{
	va_list ap;

	p->failed = true;
	va_start(ap, fmt);
	report(p, EXPORTS_ERROR, at, fmt, ap);
	va_end(ap);
}

void
exports_warning(struct exports_parser *p, struct exports_at at, const char *fmt,
    ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(p, EXPORTS_WARNING, at, fmt, ap);
	va_end(ap);
}
