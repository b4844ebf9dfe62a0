/* SPDX-License-Identifier: ISC */
/*
 * See number.h. An error names the range of valid numbers.
 * Runs in: the first process of each daemon.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

const char *
number_read(const char *text, long long min, long long max, long long *out)
{
	static char message[80];
	const char *wrong;
	long long n = strtonum(text, min, max, &wrong);

	if (wrong == NULL) {
		*out = n;
		return NULL;
	}
	(void)snprintf(message, sizeof(message),
	    "not a number from %lld to %lld", min, max);
	return message;
}
