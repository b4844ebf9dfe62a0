/* SPDX-License-Identifier: ISC */
/*
 * A client as an administrator writes it: "*", an address, a prefix, a
 * netmask, a host name, a netgroup, a certificate. The hook of exports_parse() resolves names: by a lookup
 * in the parent, from a table in its roles. A pattern that needs a lookup for
 * every call is refused.
 * Runs in: wherever exports_parse() does.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include <string.h>

#include "exports/client.h"
#include "exports/parse.h"

#define CERT		  "cert:"
#define SHA256		  "sha256:"
#define HOST_NAME_MAX_LEN 253
#define MAPPED_BITS	  96 /* ::ffff:0:0/96 holds the IPv4 addresses */

static unsigned int
family_bits(const struct addr *a)
{
	return a->family == AF_INET ? 32 : 128;
}

static void
clear_host_bits(struct addr *a, unsigned int plen)
{
	unsigned int i;

	for (i = 0; i < sizeof(a->bytes); i++) {
		if (plen >= 8 * (i + 1))
			continue;
		if (plen <= 8 * i)
			a->bytes[i] = 0;
		else
			a->bytes[i] &= (uint8_t)(0xff00u >> (plen - 8 * i));
	}
}

/* Reads an address without port. *mapped: it is an IPv4-mapped IPv6 address. */
static bool
parse_address(const char *text, struct addr *out, bool *mapped)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
	struct addr a = { 0 };

	*mapped = false;
	if (inet_pton(AF_INET, text, a.bytes) == 1) {
		a.family = AF_INET;
	} else if (inet_pton(AF_INET6, text, a.bytes) == 1) {
		a.family = AF_INET6;
		if (memcmp(a.bytes, prefix, sizeof(prefix)) == 0) {
			*mapped = true;
			memmove(a.bytes, a.bytes + 12, 4);
			memset(a.bytes + 4, 0, 12);
			a.family = AF_INET;
		}
	} else {
		return false;
	}
	*out = a;
	return true;
}

/* Reads a prefix length: digits only, no leading zero, at most 128. */
static bool
parse_plen(const char *s, unsigned int *plen)
{
	unsigned int n = 0;

	if (*s == '\0' || (*s == '0' && s[1] != '\0'))
		return false;
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9')
			return false;
		n = n * 10 + (unsigned int)(*s - '0');
		if (n > 128)
			return false;
	}
	*plen = n;
	return true;
}

/* Reads a netmask of the given family; its ones must be contiguous. */
static bool
parse_mask(const char *s, uint8_t family, unsigned int *plen)
{
	struct addr mask = { 0 };
	unsigned int i, n = 0;
	bool bit, ended = false;

	if (inet_pton(family, s, mask.bytes) != 1)
		return false;
	for (i = 0; i < 128; i++) {
		bit = mask.bytes[i / 8] & 0x80u >> (i % 8);
		if (bit && ended)
			return false;
		ended = ended || !bit;
		n += bit;
	}
	*plen = n;
	return true;
}

/* Reads the part after the slash. Returns false after a report. */
static bool
parse_prefix(struct exports_parser *p, const char *text, const char *suffix,
    const struct addr *a, bool mapped, unsigned int *plen, struct exports_at at)
{
	unsigned int bits = family_bits(a), n;

	if (!parse_plen(suffix, &n)) {
		if (!mapped && parse_mask(suffix, a->family, plen))
			return true;
		exports_error(p, at,
		    "\"%s\": \"%s\" is neither a prefix length from 0 to %u "
		    "nor a netmask",
		    text, suffix, bits);
		return false;
	}
	if (mapped && n >= MAPPED_BITS)
		n -= MAPPED_BITS;
	else if (mapped || n > bits) {
		exports_error(p, at,
		    "\"%s\": prefix length %u is not from %u to %u", text, n,
		    mapped ? MAPPED_BITS : 0, mapped ? 128 : bits);
		return false;
	}
	*plen = n;
	return true;
}

/*
 * Reads an address with an optional zone, as in "fe80::1%2". The resolver
 * interprets a zone that is not a number.
 */
static bool
parse_zone(struct exports_parser *p, char *address, struct addr *a,
    bool *mapped)
{
	char *zone = strchr(address, '%');
	uint32_t n = 0;
	const char *s;

	if (zone == NULL)
		return parse_address(address, a, mapped);
	*mapped = false;
	for (s = zone + 1; *s >= '0' && *s <= '9' && n < 100000; s++)
		n = n * 10 + (uint32_t)(*s - '0');
	if (*s == '\0' && s > zone + 1) {
		*zone = '\0';
		if (!parse_address(address, a, mapped) || a->family != AF_INET6)
			return false;
		a->scope = n;
		return true;
	}
	return p->hooks->resolve != NULL &&
	    p->hooks->resolve(p->hooks->arg, address, a, 1) == 1;
}

static void
warn_host_bits(struct exports_parser *p, const char *text,
    const struct addr *net, unsigned int plen, struct exports_at at)
{
	char shown[ADDR_STRLEN];

	exports_warning(p, at,
	    "\"%s\" has bits beyond its prefix: it means %s/%u", text,
	    addr_print(net, shown), plen);
}

/*
 * Reads an address or prefix. Returns false if text is neither. *ok is false if
 * it has an error, which is reported.
 */
static bool
numeric(struct exports_parser *p, struct exports_host *h, const char *text,
    struct exports_at at, bool *ok)
{
	char address[INET6_ADDRSTRLEN + 32];
	const char *slash = strchr(text, '/');
	size_t len = slash == NULL ? strlen(text) : (size_t)(slash - text);
	struct addr a, net;
	unsigned int plen;
	bool mapped;

	if (len >= sizeof(address))
		return false;
	memcpy(address, text, len);
	address[len] = '\0';
	if (!parse_zone(p, address, &a, &mapped))
		return false;
	plen = family_bits(&a);
	*ok = slash == NULL ||
	    parse_prefix(p, text, slash + 1, &a, mapped, &plen, at);
	net = a;
	clear_host_bits(&net, plen);
	if (*ok && memcmp(net.bytes, a.bytes, sizeof(a.bytes)) != 0)
		warn_host_bits(p, text, &net, plen, at);
	h->net[0] = net;
	h->plen[0] = plen;
	h->n = 1;
	return true;
}

static bool
is_host_name(const char *s)
{
	bool letter = false;
	size_t len = strlen(s);

	if (len == 0 || len > HOST_NAME_MAX_LEN || *s == '-' || *s == '.')
		return false;
	for (; *s != '\0'; s++) {
		if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z'))
			letter = true;
		else if (strchr("0123456789-_.", *s) == NULL)
			return false;
	}
	return letter;
}

/* Netgroups have names of any letters but those that separate. */
static bool
is_group_name(const char *s)
{
	return *s != '\0' && strlen(s) < HOST_NAME_MAX_LEN &&
	    strpbrk(s, "@,()*?[#") == NULL;
}

/* Returns why this text cannot be a client, or NULL. */
static const char *
refusal(const char *text)
{
	if (text[0] == '@')
		return is_group_name(text + 1) ? NULL : "not a netgroup's name";
	if (strncmp(text, "gss/", 4) == 0)
		return "Kerberos clients are not supported: list addresses and "
		       "use sec=sys";
	if (strpbrk(text, "*?[") != NULL)
		return "wildcards would believe the name that a stranger's "
		       "reverse lookup gives and are not supported: list a "
		       "prefix, or \"*\" for every client";
	if (strchr(text, '%') != NULL)
		return "not an address with a known interface after \"%\"";
	if (!is_host_name(text))
		return "neither an address, a prefix, a host name nor \"*\"";
	return NULL;
}

bool
exports_fingerprint(const char *s, uint8_t out[PEER_FINGERPRINT])
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *digit;
	size_t n = 0;

	for (; *s != '\0'; s++) {
		if (*s == ':' && n > 0 && n % 2 == 0 && s[1] != '\0')
			continue;
		digit = strchr(digits, *s);
		if (digit == NULL || n == 2 * PEER_FINGERPRINT)
			return false;
		out[n / 2] =
		    (uint8_t)(out[n / 2] << 4 | ((digit - digits) & 15));
		n++;
	}
	return n == 2 * PEER_FINGERPRINT;
}

/* Reads what follows "cert:". Returns false after a report. */
static bool
parse_cert(struct exports_parser *p, struct exports_host *h, const char *text,
    struct exports_at at)
{
	const char *name = text + strlen(CERT);

	if (strcmp(name, "*") == 0) {
		h->cert = CERT_ANY;
		return true;
	}
	if (strncmp(name, SHA256, strlen(SHA256)) == 0) {
		h->cert = CERT_FINGERPRINT;
		if (exports_fingerprint(name + strlen(SHA256), h->fingerprint))
			return true;
		exports_error(p, at,
		    "client \"%s\": a fingerprint has 64 hexadecimal digits "
		    "(openssl x509 -noout -fingerprint -sha256 -in FILE)",
		    text);
		return false;
	}
	h->cert = CERT_NAME;
	if (*name != '\0' && strlen(name) < PEER_TEXT &&
	    strpbrk(name, " *?[:") == NULL)
		return true;
	exports_error(p, at,
	    "client \"%s\": write cert:NAME with a whole DNS name or common "
	    "name without blanks, cert:sha256:HEX, or cert:* for every "
	    "certificate",
	    text);
	return false;
}

bool
exports_host(struct exports_parser *p, struct exports_host *h, const char *text,
    struct exports_at at)
{
	const char *why;
	bool ok = false;
	size_t i;

	memset(h, 0, sizeof(*h));
	if (strcmp(text, "*") == 0) {
		h->any = true;
		return true;
	}
	if (strncmp(text, CERT, strlen(CERT)) == 0)
		return parse_cert(p, h, text, at);
	if (numeric(p, h, text, at, &ok))
		return ok;
	why = refusal(text);
	if (why == NULL && p->hooks->resolve == NULL)
		why = "host names cannot be looked up here";
	if (why != NULL) {
		exports_error(p, at, "client \"%s\": %s", text, why);
		return false;
	}
	h->n = p->hooks->resolve(p->hooks->arg, text, h->net,
	    EXPORTS_ADDRESSES_MAX);
	if (h->n == EXPORTS_LATER)
		h->n = 0;
	else if (h->n == 0)
		exports_warning(p, at,
		    "client \"%s\": no address known; refused until a lookup "
		    "finds one",
		    text);
	for (i = 0; i < h->n; i++)
		h->plen[i] = family_bits(&h->net[i]);
	/* Without an address the entry has no family and matches no host. Its
	 * options count all the same: mode and mounts stay when it is found. */
	if (h->n == 0)
		h->n = 1;
	return true;
}
