/* SPDX-License-Identifier: ISC */
/*
 * What "mountd -n -x" reads from a certificate: names and fingerprint, and
 * nothing from a broken one.
 * Links: mountd
 * Runs in: test programs only.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "exports/client.h"
#include "mountd/parent/cert_file.h"
#include "tap.h"

/* O=Example, CN=laptop; DNS:Laptop.example.org, IP:10.0.0.5, DNS:laptop.lan */
static const char pem[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBzjCCAXSgAwIBAgIUYGuyb09viDF/MWmlm14oIl07hHcwCgYIKoZIzj0EAwIw\n"
    "IzEQMA4GA1UECgwHRXhhbXBsZTEPMA0GA1UEAwwGbGFwdG9wMB4XDTI2MTExNzIy\n"
    "MTg1M1oXDTM2MTExNDIyMTg1M1owIzEQMA4GA1UECgwHRXhhbXBsZTEPMA0GA1UE\n"
    "AwwGbGFwdG9wMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEHZc4MtZqYCiVHuh1\n"
    "TWPPFSC+7S7U9enUj8A67GRqy2MeBYC48k2f6UkIoSWXSrQiUKtpzoypTosq6DsE\n"
    "iNrc7qOBhTCBgjAdBgNVHQ4EFgQU+gAy+ofGpwuSJRBj1txghZkcOPIwHwYDVR0j\n"
    "BBgwFoAU+gAy+ofGpwuSJRBj1txghZkcOPIwDwYDVR0TAQH/BAUwAwEB/zAvBgNV\n"
    "HREEKDAmghJMYXB0b3AuZXhhbXBsZS5vcmeHBAoAAAWCCmxhcHRvcC5sYW4wCgYI\n"
    "KoZIzj0EAwIDSAAwRQIgCYCrgGycsqlfF3BPFcsVgThR80ZA4y3qTA0lHMhTmPwC\n"
    "IQCWcF6fXKsON0CDA4lHlbRu6SPM8pW5D6tCHxtSzm8jXg==\n"
    "-----END CERTIFICATE-----\n";

#define FINGERPRINT                                                            \
	"32:B0:E9:40:CA:3A:55:0D:C6:BA:80:88:D4:84:D9:74:"                     \
	"61:3B:12:F6:E3:3D:EC:E5:00:6E:72:85:19:77:73:68"

static struct peer_identity id;
static char path[] = "/tmp/tern-cert.XXXXXX";

/* Replaces the file. */
static void
keep(const void *bytes, size_t len)
{
	FILE *f = fopen(path, "w");

	if (f == NULL || fwrite(bytes, 1, len, f) != len || fclose(f) != 0)
		err(1, "%s", path);
}

static size_t
to_der(uint8_t der[1024])
{
	const char *body = strchr(pem, '\n'), *end = strstr(body, "-----END");
	size_t len;

	if (sodium_base642bin(der, 1024, body, (size_t)(end - body), "\n", &len,
		NULL, sodium_base64_VARIANT_ORIGINAL) == -1)
		errx(1, "base64");
	return len;
}

static bool
is_laptop(void)
{
	uint8_t want[PEER_FINGERPRINT] = { 0 };

	return id.security == PEER_MTLS && id.nnames == 3 &&
	    strcmp(peer_name(&id, 0), "laptop") == 0 &&
	    strcmp(peer_name(&id, 1), "Laptop.example.org") == 0 &&
	    strcmp(peer_name(&id, 2), "laptop.lan") == 0 &&
	    exports_fingerprint(FINGERPRINT, want) &&
	    memcmp(want, id.fingerprint, sizeof(want)) == 0;
}

static void
files(void)
{
	uint8_t der[1024];
	size_t len = to_der(der);

	keep(pem, strlen(pem));
	ok(cert_identity(&id, path) == NULL && is_laptop(), "a PEM file");
	keep(der, len);
	ok(cert_identity(&id, path) == NULL && is_laptop(), "a DER file");
	keep("hello", 5);
	is(cert_identity(&id, path), "not a certificate", "a text");
	keep("", 0);
	is(cert_identity(&id, path), "not a certificate", "an empty file");
	keep(pem, strlen(pem) / 2);
	is(cert_identity(&id, path), "not a certificate", "half a file");
	is(cert_identity(&id, "/nowhere/x"), "No such file or directory",
	    "no file");
}

/* Memory of its exact size lets the sanitizer see a read beyond it. */
static void
broken(void)
{
	uint8_t der[1024], *copy;
	size_t len = to_der(der), i, whole = 0;

	for (i = 0; i < len; i++) {
		copy = malloc(i + 1);
		if (copy == NULL)
			err(1, "memory");
		memcpy(copy, der, i);
		whole += cert_read(&id, copy, i);
		free(copy);
	}
	cmp_ok(whole, "==", 0, "no prefix is a certificate");
	for (i = 0; i < len; i++) {
		copy = malloc(len);
		if (copy == NULL)
			err(1, "memory");
		memcpy(copy, der, len);
		copy[i] ^= 0xff;
		(void)cert_read(&id, copy, len);
		whole += id.nnames > 64;
		free(copy);
	}
	cmp_ok(whole, "==", 0, "a flipped byte adds no names");
}

static void
values(void)
{
	ok(cert_identity(&id, "laptop") == NULL && id.nnames == 1 &&
		strcmp(peer_name(&id, 0), "laptop") == 0,
	    "a name");
	ok(cert_identity(&id, "sha256:" FINGERPRINT) == NULL &&
		id.nnames == 0 && id.fingerprint[0] != 0,
	    "a fingerprint");
	ok(cert_identity(&id, "sha256:12") != NULL, "half a fingerprint");
}

int
main(void)
{
	int fd = mkstemp(path);

	if (fd == -1)
		err(1, "%s", path);
	close(fd);
	plan(NO_PLAN);
	files();
	broken();
	values();
	unlink(path);
	done_testing();
}
