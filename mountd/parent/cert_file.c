/* SPDX-License-Identifier: ISC */
/*
 * Reads the names of a certificate, for "mountd -n -x". A certificate is a tree
 * of fields, each with a tag, a length and a body (DER). This walks down to the
 * common name of the subject and to the DNS names, and skips all else. The tls
 * role of nfsd reads the same names with OpenSSL, which mountd does not link.
 * Runs in: mountd -n -x.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "exports/client.h"
#include "mountd/parent/cert_file.h"

#define FILE_MAX_BYTES 65536
#define BEGIN	       "-----BEGIN CERTIFICATE-----"

enum tag {
	TAG_OID = 0x06,
	TAG_OCTETS = 0x04,
	TAG_SEQUENCE = 0x30,
	TAG_SET = 0x31,
	TAG_DNS_NAME = 0x82, /* in subjectAltName */
	TAG_VERSION = 0xa0,
	TAG_EXTENSIONS = 0xa3
};

struct der {
	const uint8_t *at;
	size_t left;
};

static const uint8_t oid_common_name[] = { 0x55, 0x04, 0x03 };
static const uint8_t oid_alt_name[] = { 0x55, 0x1d, 0x11 };

/* Reads the next field. Returns false at the end, or if it is malformed. */
static bool
der_next(struct der *d, unsigned int *tag, struct der *body)
{
	size_t len, bytes, head = 2;

	if (d->left < head)
		return false;
	*tag = d->at[0];
	len = d->at[1];
	if (len >= 0x80) {
		bytes = len & 0x7f;
		if (bytes == 0 || bytes > 3 || d->left < head + bytes)
			return false;
		for (len = 0; bytes > 0; bytes--)
			len = len << 8 | d->at[head++];
	}
	if (len > d->left - head)
		return false;
	body->at = d->at + head;
	body->left = len;
	d->at += head + len;
	d->left -= head + len;
	return true;
}

/* Reads the next field, which must have this tag. */
static bool
der_expect(struct der *d, unsigned int wanted, struct der *body)
{
	unsigned int tag;

	return der_next(d, &tag, body) && tag == wanted;
}

static bool
der_is(const struct der *d, const uint8_t *bytes, size_t len)
{
	return d->left == len && memcmp(d->at, bytes, len) == 0;
}

/* Is this text, without control characters, blanks and zeros? */
static bool
is_clean(const struct der *name)
{
	size_t i;

	for (i = 0; i < name->left; i++) {
		if (name->at[i] <= ' ' || name->at[i] == 0x7f)
			return false;
	}
	return name->left > 0;
}

static void
add_name(struct peer_identity *id, const struct der *name)
{
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < id->nnames; i++)
		used += strlen(id->names + used) + 1;
	if (!is_clean(name) || name->left >= sizeof(id->names) - used)
		return;
	memcpy(id->names + used, name->at, name->left);
	id->names[used + name->left] = '\0';
	id->nnames++;
}

/* The subject: a sequence of sets of { type, value }. The first name counts. */
static void
read_subject(struct peer_identity *id, struct der subject)
{
	struct der set, pair, type, value;
	unsigned int tag;

	while (der_expect(&subject, TAG_SET, &set)) {
		while (der_expect(&set, TAG_SEQUENCE, &pair)) {
			if (der_expect(&pair, TAG_OID, &type) &&
			    der_next(&pair, &tag, &value) &&
			    der_is(&type, oid_common_name,
				sizeof(oid_common_name))) {
				add_name(id, &value);
				return;
			}
		}
	}
}

static void
read_alt_names(struct peer_identity *id, struct der octets)
{
	struct der names, name;
	unsigned int tag;

	if (!der_expect(&octets, TAG_SEQUENCE, &names))
		return;
	while (der_next(&names, &tag, &name)) {
		if (tag == TAG_DNS_NAME)
			add_name(id, &name);
	}
}

/* The extensions: each is { type, [critical,] octets }. */
static void
read_extensions(struct peer_identity *id, struct der outer)
{
	struct der list, one, type, body;
	unsigned int tag;

	if (!der_expect(&outer, TAG_SEQUENCE, &list))
		return;
	while (der_expect(&list, TAG_SEQUENCE, &one)) {
		if (!der_expect(&one, TAG_OID, &type) ||
		    !der_is(&type, oid_alt_name, sizeof(oid_alt_name)))
			continue;
		while (der_next(&one, &tag, &body)) {
			if (tag == TAG_OCTETS)
				read_alt_names(id, body);
		}
	}
}

bool
cert_read(struct peer_identity *id, const uint8_t *der, size_t len)
{
	struct der file = { der, len }, cert, tbs, field;
	unsigned int tag, sequences = 0;

	memset(id, 0, sizeof(*id));
	id->security = PEER_MTLS;
	if (!der_expect(&file, TAG_SEQUENCE, &cert) ||
	    !der_expect(&cert, TAG_SEQUENCE, &tbs))
		return false;
	while (der_next(&tbs, &tag, &field)) {
		/* Algorithm, issuer, validity, subject, key. */
		if (tag == TAG_SEQUENCE && ++sequences == 4)
			read_subject(id, field);
		else if (tag == TAG_EXTENSIONS)
			read_extensions(id, field);
	}
	(void)crypto_hash_sha256(id->fingerprint, der, len - file.left);
	return sequences >= 5;
}

/* Decodes the first certificate of a PEM file in place. */
static bool
from_pem(uint8_t *text, size_t *len)
{
	const char *begin = memmem(text, *len, BEGIN, strlen(BEGIN)), *end;
	static uint8_t out[FILE_MAX_BYTES];

	if (begin == NULL)
		return true; /* perhaps DER */
	begin += strlen(BEGIN);
	*len -= (size_t)(begin - (const char *)text);
	end = memmem(begin, *len, "-----", 5);
	if (end == NULL ||
	    sodium_base642bin(out, sizeof(out), begin, (size_t)(end - begin),
		" \r\n", len, NULL, sodium_base64_VARIANT_ORIGINAL) == -1)
		return false;
	memcpy(text, out, *len);
	return true;
}

static const char *
from_file(struct peer_identity *id, const char *path)
{
	static uint8_t text[FILE_MAX_BYTES];
	ssize_t n = -1;
	size_t len;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd != -1)
		n = read(fd, text, sizeof(text));
	if (n == -1) {
		close_keep_errno(fd);
		return strerror(errno);
	}
	close(fd);
	len = (size_t)n;
	if (!from_pem(text, &len) || !cert_read(id, text, len))
		return "not a certificate";
	return NULL;
}

const char *
cert_identity(struct peer_identity *id, const char *value)
{
	struct der name = { (const uint8_t *)value, strlen(value) };

	if (strchr(value, '/') != NULL)
		return from_file(id, value);
	memset(id, 0, sizeof(*id));
	id->security = PEER_MTLS;
	if (strncmp(value, "sha256:", 7) == 0)
		return exports_fingerprint(value + 7, id->fingerprint) ?
		    NULL :
		    "a fingerprint has 64 hexadecimal digits";
	add_name(id, &name);
	return id->nnames == 1 ? NULL : "not a name: too long, or with blanks";
}
