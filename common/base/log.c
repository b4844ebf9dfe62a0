/* SPDX-License-Identifier: ISC */
/*
 * One log for all daemons. The syslog socket is opened once and never again.
 * When syslogd restarts, libc's syslog(3) calls socket(2) and connect(2), and
 * the sandbox kills a role for that. A line that cannot be delivered at once is
 * dropped; logging never blocks.
 * Runs in: every process.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

#define LOG_LINE_MAX 1024
#define LOG_KEYS_MAX 256 /* keys of log_permit() */
#define LOG_KEYS_SET 8 /* slots that a key may use */

static struct {
	const char *name;
	const char *role;
	int verbose;
	int syslog_fd;
	bool journal; /* standard error is the journal: "<N>" prefixes */
} logger = { .name = "tern", .syslog_fd = -1 };

static struct {
	pthread_mutex_t lock;
	struct {
		uint64_t key;
		uint64_t until; /* second: no line until then */
	} keys[LOG_KEYS_MAX];
	uint64_t second;
	unsigned int lines; /* permitted in this second */
	unsigned long suppressed;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool
stderr_is_journal(void)
{
	const char *stream;
	struct stat st;
	unsigned long long dev, ino;

	stream = getenv("JOURNAL_STREAM");
	if (stream == NULL || sscanf(stream, "%llu:%llu", &dev, &ino) != 2)
		return false;
	return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev &&
	    st.st_ino == ino;
}

void
log_init(const char *name)
{
	logger.name = name;
	logger.journal = stderr_is_journal();
	tzset(); /* reads the zone file, which the sandbox hides later */
}

void
log_role(const char *role)
{
	logger.role = role;
}

void
log_to_syslog(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX,
		.sun_path = "/dev/log" };
	int fd;

	if (logger.syslog_fd != -1)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return;
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) == -1) {
		close(fd);
		return;
	}
	logger.syslog_fd = fd;
}

bool
log_is_journal(void)
{
	return logger.journal && logger.syslog_fd == -1;
}

void
log_set_verbose(int level)
{
	logger.verbose = level;
}

int
log_verbose(void)
{
	return logger.verbose;
}

/* "<30>Jan  2 15:04:05 nfsd[12]: " or "<6>nfsd: worker: " or "nfsd: ". */
static size_t
put_prefix(char *out, size_t size, int level)
{
	char when[32] = "";
	const char *role, *colon;
	struct tm tm;
	time_t now;
	int n;

	role = logger.role != NULL ? logger.role : "";
	colon = logger.role != NULL ? ": " : "";
	if (logger.syslog_fd != -1) {
		now = clock_wall().tv_sec;
		if (localtime_r(&now, &tm) != NULL)
			(void)strftime(when, sizeof(when), "%b %e %T ", &tm);
		n = snprintf(out, size, "<%d>%s%s[%d]: %s%s",
		    LOG_DAEMON | level, when, logger.name, (int)getpid(), role,
		    colon);
	} else if (logger.journal)
		n = snprintf(out, size, "<%d>%s: %s%s", level, logger.name,
		    role, colon);
	else
		n = snprintf(out, size, "%s: %s%s", logger.name, role, colon);
	if (n < 0)
		return 0;
	return (size_t)n < size ? (size_t)n : size - 1;
}

/*
 * Writes a line with one system call, so that lines of several processes do not
 * mix.
 */
static void
write_line(char *line, size_t len)
{
	ssize_t n;

	if (logger.syslog_fd != -1) {
		(void)send(logger.syslog_fd, line, len, MSG_NOSIGNAL);
		return;
	}
	line[len++] = '\n';
	do
		n = write(STDERR_FILENO, line, len);
	while (n == -1 && errno == EINTR);
}

static void log_line(int level, int error, const char *fmt, va_list ap)
    PRINTF_LIKE(3, 0);

static void
log_line(int level, int error, const char *fmt, va_list ap)
{
	char line[LOG_LINE_MAX], why[128] = "";
	size_t len;
	int n, saved;

	saved = errno;
	len = put_prefix(line, sizeof(line) - 1, level);
	n = vsnprintf(line + len, sizeof(line) - 1 - len, fmt, ap);
	if (n > 0)
		len += (size_t)n;
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	if (error != 0) {
		n = snprintf(line + len, sizeof(line) - 1 - len, ": %s",
		    strerror_r(error, why, sizeof(why)));
		if (n > 0)
			len += (size_t)n;
		if (len > sizeof(line) - 2)
			len = sizeof(line) - 2;
	}
	write_line(line, len);
	errno = saved;
}

void
fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_CRIT, errno, fmt, ap);
	va_end(ap);
	exit(1);
}

void
fatalx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_CRIT, 0, fmt, ap);
	va_end(ap);
	exit(1);
}

void
fatal_config(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_CRIT, 0, fmt, ap);
	va_end(ap);
	exit(EX_CONFIG);
}

void
log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_WARNING, errno, fmt, ap);
	va_end(ap);
}

void
log_warnx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_WARNING, 0, fmt, ap);
	va_end(ap);
}

void
log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_INFO, 0, fmt, ap);
	va_end(ap);
}

void
log_debug(const char *fmt, ...)
{
	va_list ap;

	if (logger.verbose < 1)
		return;
	va_start(ap, fmt);
	log_line(LOG_DEBUG, 0, fmt, ap);
	va_end(ap);
}

/* Returns the slot of key, or the slot of its set that expires first. */
static size_t
slot_of(uint64_t key)
{
	size_t first, i, best;

	first = (size_t)(key % LOG_KEYS_MAX) & ~(size_t)(LOG_KEYS_SET - 1);
	best = first;
	for (i = first; i < first + LOG_KEYS_SET; i++) {
		if (gate.keys[i].key == key)
			return i;
		if (gate.keys[i].until < gate.keys[best].until)
			best = i;
	}
	return best;
}

static bool
permit(uint64_t key, uint64_t now, unsigned long *missed)
{
	size_t slot;

	slot = slot_of(key);
	if (now != gate.second) {
		gate.second = now;
		gate.lines = 0;
	}
	if ((gate.keys[slot].key == key && gate.keys[slot].until > now) ||
	    gate.lines >= LOG_BURST) {
		gate.suppressed++;
		return false;
	}
	gate.keys[slot].key = key;
	gate.keys[slot].until = now + LOG_QUIET_SECONDS;
	gate.lines++;
	*missed = gate.suppressed;
	gate.suppressed = 0;
	return true;
}

bool
log_permit(const char *name, uint64_t about)
{
	uint64_t key = hash_mix(hash_text(name) ^ about);
	unsigned long missed = 0;
	bool yes;

	pthread_mutex_lock(&gate.lock);
	yes = permit(key, clock_coarse_ms() / 1000, &missed);
	pthread_mutex_unlock(&gate.lock);
	if (missed != 0)
		log_info("log: %lu lines about peers suppressed", missed);
	return yes;
}

/* Returns the bytes of the escaped form. */
static size_t
escaped(unsigned char c)
{
	if (c < 0x20 || c >= 0x7f)
		return TEXT_ESCAPED;
	return c == '\\' ? 2 : 1;
}

const char *
log_text(char *out, size_t outsize, const void *bytes, size_t len)
{
	const unsigned char *in = bytes;
	size_t i, n, room;

	for (i = n = 0; i < len && n < outsize; i++)
		n += escaped(in[i]);
	room = n < outsize ? n : outsize - (outsize > 4 ? 4 : 1);
	for (i = n = 0; i < len && escaped(in[i]) <= room - n; i++) {
		if (escaped(in[i]) == TEXT_ESCAPED) {
			text_escape(out + n, in[i]);
			n += TEXT_ESCAPED;
			continue;
		}
		if (in[i] == '\\')
			out[n++] = '\\';
		out[n++] = (char)in[i];
	}
	if (i < len && outsize > 4) {
		memcpy(out + n, "...", 3);
		n += 3;
	}
	out[n] = '\0';
	return out;
}
