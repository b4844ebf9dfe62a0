# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# sqlite: transactions, roll-back, growth and shrinking; nolock: one client.
db="file:$D/t.db?nolock=1"
sql() { sqlite3 "$db" "$@"; }
sql 'create table t(i integer primary key, x text); create index ix on t(x);'
{
	for i in $(seq $((30 * SCALE))); do
		echo "begin; insert into t values($i, 'row $i'); commit;"
	done
} | sql
[ "$(sql 'select count(*) from t')" = $((30 * SCALE)) ]
sql 'begin; delete from t; rollback;'
[ "$(sql 'select count(*) from t')" = $((30 * SCALE)) ]
sql "begin; with recursive c(n) as (select 100000 union all select n+1 from c limit $((200 * SCALE)))
    insert into t select n, hex(randomblob(50)) from c; commit;"
sql "delete from t where i % 3 = 0; vacuum;"
[ "$(sql 'pragma integrity_check')" = ok ]
sum=$(sql 'select sum(i), count(*) from t')
cold
[ "$(sql 'select sum(i), count(*) from t')" = "$sum" ]
