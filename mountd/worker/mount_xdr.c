/* SPDX-License-Identifier: ISC */
/*
 * The codec of MOUNT. It cleans paths, so operations see only clean ones. A
 * player's UTF-16LE is recognised by its first two bytes, "/" and NUL, which no
 * other path can have. A list that does not fit ends after a whole entry.
 * Runs in: mountd worker.
 */
#include <arpa/inet.h>

#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "mountd/mount.h"

#define ENTRY_WORDS 12 /* marker, length and padding of a string */
#define GROUP_MAX   (2 * INET6_ADDRSTRLEN + 2)

/* Bytes of MOUNT 2's ppathcnf bit mask: 1 is "error", then by _PC_ number. */
#define PATHCONF_ERROR 0x0001u
#define PATHCONF_UNSET                                                         \
	0x010cu /* no terminals: max_canon, max_input, vdisable */
#define PATHCONF_TRUE 0x0280u /* no_trunc and chown_restricted hold */

static bool
is_utf16(const struct slice *s)
{
	return s->len >= 2 && s->len % 2 == 0 && s->data[0] == '/' &&
	    s->data[1] == 0;
}

/* Returns the status for a path that cannot be cleaned. */
static enum mountstat
bad_path(const char *text, size_t len)
{
	if (len == 0 || memchr(text, '\0', len) != NULL)
		return MNTERR_NOENT;
	if (len > EXPORTS_PATH_MAX)
		return MNTERR_NAMETOOLONG;
	return MNTERR_ACCES; /* ".." */
}

/* dirpath: RFC 1094, A.4; RFC 1813, 5.1.4. */
void
mount_get_path(struct xdr_in *x, struct call_args *args)
{
	struct mount_path *p = &args->path;
	char text[3 * MOUNT_WIRE_MAX / 2 + 1];
	size_t len;

	p->raw = xdr_get_opaque(x, MOUNT_WIRE_MAX);
	if (x->failed)
		return;
	/* yanfs first sends the path without its first slash. */
	text[0] = '/';
	if (is_utf16(&p->raw)) {
		p->names = NAMES_UTF16LE;
		if (!name_from_utf16(text, sizeof(text), &len, p->raw.data,
			p->raw.len)) {
			p->status = MNTERR_NOENT;
			return;
		}
	} else {
		len = p->raw.len;
		if (len > 0 && p->raw.data[0] == '/')
			memcpy(text, p->raw.data, len);
		else if (len > 0)
			memcpy(text + 1, p->raw.data, len++);
	}
	if (!exports_clean_path(text, len, p->clean))
		p->status = bad_path(text, len);
}

/* fhstatus: RFC 1094, A.4. */
void
mount_put_fhstatus(struct xdr_out *x, const struct call_res *res)
{
	enum mountstat status = res->status;

	if (status > MNTERR_NAMETOOLONG)
		status = MNTERR_IO; /* the newer codes are not in version 1 */
	xdr_put_u32(x, (uint32_t)status);
	if (status == MNT_OK)
		xdr_put_fixed(x, res->fh.bytes, FH_SIZE);
}

/* mountres3: RFC 1813, 5.2.1. */
void
mount_put_mountres3(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_u32(x, (uint32_t)res->status);
	if (res->status != MNT_OK)
		return;
	xdr_put_opaque(x, res->fh.bytes, FH_SIZE);
	/* Flavours, preferred first. With AUTH_NONE a caller is anonymous. */
	xdr_put_u32(x, 2);
	xdr_put_u32(x, AUTH_SYS);
	xdr_put_u32(x, AUTH_NONE);
}

/* mountlist: RFC 1094, A.5.3; RFC 1813, 5.2.2. */
void
mount_put_mounts(struct xdr_out *x, const struct call_res *res)
{
	const struct mount_entry *row = res->dump->rows;
	char host[ADDR_STRLEN];
	size_t i, need;

	for (i = 0; i < res->dump->nrows; i++, row++) {
		(void)addr_print(&row->host, host);
		need = strlen(host) + strlen(row->path) + 2 * ENTRY_WORDS;
		if (need > xdr_out_left(x))
			break;
		xdr_put_bool(x, true);
		xdr_put_string(x, host);
		xdr_put_string(x, row->path);
	}
	xdr_put_bool(x, false);
}

/* Formats "169.254.0.0/255.255.0.0", the form that players expect. */
static void
net_and_mask(char out[GROUP_MAX], const struct export_client *c)
{
	static const struct addr all = { .family = AF_INET };
	const struct addr *net = c->any ? &all : &c->net;
	char net_text[INET6_ADDRSTRLEN] = "", mask_text[INET6_ADDRSTRLEN] = "";
	uint8_t mask[16] = { 0 };
	unsigned int i;

	for (i = 0; i < c->plen && i < 128; i++)
		mask[i / 8] |= (uint8_t)(0x80u >> (i % 8));
	(void)inet_ntop(net->family, net->bytes, net_text, sizeof(net_text));
	(void)inet_ntop(net->family, mask, mask_text, sizeof(mask_text));
	(void)snprintf(out, GROUP_MAX, "%s/%s", net_text, mask_text);
}

/* Encodes the directory in its dialect. Returns false if that has no form. */
static bool
put_dir(struct xdr_out *x, const struct mount_row *row)
{
	uint8_t wide[2 * EXPORTS_PATH_MAX];
	size_t len;

	if (row->names != NAMES_UTF16LE) {
		xdr_put_string(x, row->dir);
		return true;
	}
	if (!name_to_utf16(wide, sizeof(wide), &len, row->dir,
		strlen(row->dir)))
		return false;
	xdr_put_opaque(x, wide, len);
	return true;
}

/* Encodes one exportnode without ex_next. Returns false if it does not fit. */
static bool
put_row(struct xdr_out *x, const struct mount_listing *list,
    const struct mount_row *row)
{
	char text[GROUP_MAX];
	const char *group;
	size_t i;

	xdr_put_bool(x, true);
	if (!put_dir(x, row))
		return false;
	for (i = row->first; i < row->first + row->n; i++) {
		group = list->groups[i]->text;
		if (row->names == NAMES_UTF16LE) {
			net_and_mask(text, list->groups[i]);
			group = text;
		}
		xdr_put_bool(x, true);
		xdr_put_string(x, group);
	}
	xdr_put_bool(x, false);
	return !x->failed && xdr_out_left(x) >= 4;
}

static void
put_rows(struct xdr_out *x, const struct mount_listing *list, bool players)
{
	struct xdr_out before;
	size_t i;

	for (i = 0; i < list->nrows; i++) {
		if (list->rows[i].names == NAMES_UTF16LE && !players)
			continue;
		before = *x;
		if (!put_row(x, list, &list->rows[i]))
			*x = before; /* this one is left out */
	}
	xdr_put_bool(x, false);
}

/* exportlist: RFC 1094, A.5.6. Players speak only version 1. */
void
mount_put_exports(struct xdr_out *x, const struct call_res *res)
{
	put_rows(x, res->listing, true);
}

/* exports: RFC 1813, 5.2.5. */
void
mount_put_exports3(struct xdr_out *x, const struct call_res *res)
{
	put_rows(x, res->listing, false);
}

/* ppathcnf of MOUNT version 2: short and char are words on the wire. */
void
mount_put_pathconf(struct xdr_out *x, const struct call_res *res)
{
	bool good = res->status == MNT_OK;

	xdr_put_u32(x, good ? 32000 : 0); /* link_max */
	xdr_put_u32(x, 0); /* max_canon */
	xdr_put_u32(x, 0); /* max_input */
	xdr_put_u32(x, good ? NAME_UTF8_MAX : 0); /* name_max */
	xdr_put_u32(x, good ? EXPORTS_PATH_MAX : 0); /* path_max */
	xdr_put_u32(x, good ? 4096 : 0); /* pipe_buf */
	xdr_put_u32(x, 0); /* vdisable */
	xdr_put_u32(x, 0); /* unused */
	xdr_put_u32(x, good ? PATHCONF_UNSET | PATHCONF_TRUE : PATHCONF_ERROR);
	xdr_put_u32(x, 0); /* second word of the mask */
}
