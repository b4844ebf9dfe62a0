/* SPDX-License-Identifier: ISC */
/*
 * Reads a certificate: see certificate.h. A name that is not plain text, or
 * that does not fit, is left out: it then matches no entry of the exports.
 * Runs in: nfsd tls.
 */
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "nfsd/tls/certificate.h"

/* The user in FreeBSD's certificates: user@domain, as UTF-8. */
#define USER_OID "1.3.6.1.4.1.2238.1.1.1"

_Static_assert(EVP_MAX_MD_SIZE >= PEER_FINGERPRINT, "a digest fits");

/* Is this text, without control characters, spaces and zeros? */
static bool
is_clean(const unsigned char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] == 0x7f)
			return false;
	return len > 0;
}

static bool
copy_clean(char *out, size_t size, const unsigned char *text, size_t len)
{
	if (len >= size || !is_clean(text, len))
		return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

/* used: the bytes of id->names in use. */
static void
add_name(struct peer_identity *id, size_t *used, const unsigned char *text,
    int len)
{
	if (len > 0 &&
	    copy_clean(id->names + *used, sizeof(id->names) - *used, text,
		(size_t)len)) {
		*used += (size_t)len + 1;
		id->nnames++;
	}
}

static void
read_user(struct peer_identity *id, const OTHERNAME *other)
{
	const ASN1_STRING *text = other->value->value.utf8string;
	char oid[64];

	if (OBJ_obj2txt(oid, sizeof(oid), other->type_id, 1) <= 0 ||
	    strcmp(oid, USER_OID) != 0 ||
	    other->value->type != V_ASN1_UTF8STRING)
		return;
	(void)copy_clean(id->user, sizeof(id->user),
	    ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text));
}

static void
read_alternatives(struct peer_identity *id, X509 *cert, size_t *used)
{
	GENERAL_NAMES *names =
	    X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
	const GENERAL_NAME *name;
	int i;

	for (i = 0; i < sk_GENERAL_NAME_num(names); i++) {
		name = sk_GENERAL_NAME_value(names, i);
		if (name->type == GEN_DNS)
			add_name(id, used,
			    ASN1_STRING_get0_data(name->d.dNSName),
			    ASN1_STRING_length(name->d.dNSName));
		else if (name->type == GEN_OTHERNAME && id->user[0] == '\0')
			read_user(id, name->d.otherName);
	}
	GENERAL_NAMES_free(names);
}

static void
read_common_name(struct peer_identity *id, X509 *cert, size_t *used)
{
	X509_NAME *subject = X509_get_subject_name(cert);
	int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1), len;
	unsigned char *text = NULL;

	if (at < 0)
		return;
	len = ASN1_STRING_to_UTF8(&text,
	    X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
	if (len > 0)
		add_name(id, used, text, len);
	OPENSSL_free(text);
}

static void
print_name(char *out, size_t size, const X509_NAME *name)
{
	BIO *bio = BIO_new(BIO_s_mem());
	int n;

	if (bio == NULL)
		return;
	if (X509_NAME_print_ex(bio, name, 0,
		XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB) >= 0) {
		n = BIO_read(bio, out, (int)size - 1);
		out[n > 0 ? n : 0] = '\0';
	}
	BIO_free(bio);
}

static void
print_serial(char *out, size_t size, const ASN1_INTEGER *serial)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = ASN1_STRING_get0_data(serial);
	size_t len = (size_t)ASN1_STRING_length(serial), i;

	if (len > (size - 1) / 2)
		len = (size - 1) / 2;
	for (i = 0; i < len; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * i] = '\0';
}

void
tls_certificate_read(struct peer_identity *id, X509 *cert)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned int len = 0;
	size_t used = 0;

	if (X509_digest(cert, EVP_sha256(), sum, &len) == 1 &&
	    len == PEER_FINGERPRINT)
		memcpy(id->fingerprint, sum, PEER_FINGERPRINT);
	print_serial(id->serial, sizeof(id->serial),
	    X509_get0_serialNumber(cert));
	print_name(id->subject, sizeof(id->subject),
	    X509_get_subject_name(cert));
	print_name(id->issuer, sizeof(id->issuer), X509_get_issuer_name(cert));
	read_alternatives(id, cert, &used);
	read_common_name(id, cert, &used);
	ERR_clear_error();
}
