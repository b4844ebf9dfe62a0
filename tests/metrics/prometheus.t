#!/bin/bash
# SPDX-License-Identifier: ISC
#
# make check-metrics: Debian's Prometheus scrapes a server that clients load. Every
# query of etc/prometheus goes through it. PICTURE=file draws what it has seen. The
# package is unpacked, not installed: that would start a service.
# Runs in: the tests.
. "${0%/*}/../system/lib.sh"
. "$top/tests/lib/ca.sh"
here=$top/tests/metrics
etc=$top/etc/prometheus
keep=$O/build/metrics
if [ ! -x "$keep/usr/bin/promtool" ]; then
	mkdir -p "$keep"
	(cd "$keep" && apt-get -qq -o APT::Sandbox::User=root download prometheus &&
	    dpkg-deb -x prometheus_*.deb .) >"$keep/fetch.log" 2>&1 ||
	    bail "cannot fetch prometheus: $(tail -n 1 "$keep/fetch.log")"
fi
PATH=$keep/usr/bin:$PATH
private "$@"
need openssl openssl python3 python3
judge() { "$here/judge.py" "$@"; }

check 'promtool accepts the rules' promtool check rules "$etc/tern.rules.yml"
check 'each alert fires when it should, and only then' promtool test rules "$here/alerts.yml"
sed -n 's/.*- alert: //p' "$etc/tern.rules.yml" >"$T/alerts"
while read -r alert; do
	check "and $alert is among them" grep -q "alertname=\"$alert\"" "$here/alerts.yml"
done <"$T/alerts"

ca_new "$T/ca" && ca_server server IP:127.0.0.1 && ca_client laptop && ca_client other &&
    ca_revoke other || bail "no certificates"
mkdir "$T/srv" && mount --bind "$T/srv" /srv
mkdir -m 1777 /srv/music /srv/home
for i in {0..39}; do head -c 256K /dev/zero >"/srv/music/song$i"; done
touch /srv/music/cover{0..39} # found, and never opened
tern_start '/srv/music 127.0.0.0/29(ro,insecure)
/srv/home 127.0.0.0/29(rw,insecure)' -w 2 -o files=32 -o metrics=127.0.0.1@9049 \
	-o "tls-cert=$T/ca/server.pem" -o "tls-key=$T/ca/server.key" \
	-o "tls-ca=$T/ca/ca.pem" -o "tls-crl=$T/ca/crl.pem"

cat >"$T/prometheus.yml" <<E
global: {scrape_interval: 2s, evaluation_interval: 1s}
rule_files: ["$etc/tern.rules.yml"]
scrape_configs:
  - job_name: tern
    static_configs: [{targets: ["127.0.0.1:9049"]}]
E
check 'promtool accepts the configuration' promtool check config "$T/prometheus.yml"
check 'promtool finds no fault with the names' sh -c \
	"python3 -c 'import metrics; print(metrics.ask(9049)[2].decode(), end=\"\")' | promtool check metrics"
prometheus --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/data" \
	--web.listen-address=127.0.0.1:9090 >"$T/prometheus.log" 2>&1 &
at_end "kill $!"
wait_for 30 judge alerts || bail "no Prometheus: $(tail -n 3 "$T/prometheus.log")"
check 'clients load the server' "$here/load.py" "${LOAD_SECONDS:-80}" "$T"
[ -z "${PICTURE:-}" ] || check 'a picture is drawn' "$here/draw.py" "$etc/tern-dashboard.json" "$PICTURE"
lines_ok judge dashboard "$etc/tern-dashboard.json"
lines_ok judge alerts

check 'a stranger who tries to mount again and again is noticed' judge firing TernMountsRefused
for alert in TernMountdDown TernDown; do
	check_not "$alert does not fire" judge firing $alert
done
stop mountd
check 'a mountd that is gone is noticed' wait_for 10 judge firing TernMountdDown
stop nfsd
check 'an nfsd that is gone is noticed' wait_for 10 judge firing TernDown
done_testing
