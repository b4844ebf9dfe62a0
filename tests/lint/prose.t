#!/bin/sh
# SPDX-License-Identifier: ISC
# Prose names its actor and uses the words of a manual, in comments and strings
# of product code, documents, manual pages, and comments of tests and scripts.
. "${0%/*}/lib.sh"

command -v perl >/dev/null || skip_all 'no perl'

prose() {
	product
	files '*.md' 'man/*'
	files 'tests/*' 'etc/*' GNUmakefile |
	    grep -Ev '^tests/(fuzz/corpus/|lint/prose.t)|\.(md|svg)$'
}

# Prints file:line:words of every habit in the files on standard input. "Who"
# is fine behind a person, as in "a user who". So is the user nobody.
habits() {
	# shellcheck disable=SC2016 # Perl's variables
	xargs perl -0777 -ne '
	our $person = qr/\b(?:user|caller|owner|administrator)s?\b[^.:;,]{0,40}$/;
	our $habit = join "|", qw(who whoever he him his himself somebody
	    someone nobody everybody everyone anybody anyone dear(?:er|est)?),
	    "of +now", "of +yesterday", "in +force";
	our ($text, @found) = $_;
	my $product = $ARGV =~ m{^(common|portmapd|mountd|nfsd)/};
	sub look { # A piece of prose, and its place in the file.
		my ($piece, $at) = @_;
		$piece =~ s/(?<=\n)([ \t]*(?:\*|#)?[ \t]*)/" " x length $1/ge;
		$piece =~ s/\s/ /g;
		while ($piece =~ /(?<![-\w])(?<!user )(?:$habit)\b/gi) {
			my ($word, $before) = ($&, substr $text, 0, $at + $-[0]);
			next if lc $word eq "who" && $before =~ /$person/;
			push @found, 1 + ($before =~ tr,\n,,) . ":" .
			    substr($piece, $-[0] < 30 ? 0 : $-[0] - 30, 70);
		}
	}
	if ($ARGV =~ /\.[ch]$/) {
		while ($text =~ m{(/\*.*?\*/)|("(?:[^"\\\n]|\\.)*")|\x27\\?.\x27}gs) {
			look($1, $-[1]) if defined $1;
			look($2, $-[2]) if defined $2 && $product;
		}
	} elsif ($ARGV =~ m{\.md$|^man/}) {
		(my $plain = $text) =~ s/(`+)(.*?)\1/" " x length $&/gse;
		look($plain, 0);
	} else {
		look($&, $-[0]) while $text =~
		    m{(?:^[ \t]*#(?!!).*\n?)+|(?<=[ \t])#[ ].*|"""(?s:.*?)"""}gm;
	}
	s/\s+/ /g, print "$ARGV:$_\n" for @found;'
}

# Prints a document whose sentences are longer than MAX words on average. Lists,
# tables, headings and code do not count.
wordy() { # MAX DOCUMENT...
	most=$1
	shift
	awk -v most="$most" '
	function judge() {
		if (ends && words / ends > most)
			printf "%s: %.1f words a sentence\n", name, words / ends
		words = ends = fence = 0
	}
	FNR == 1 { judge(); name = FILENAME }
	/^```/ { fence = !fence; next }
	!fence && /^[^ \t|#]/ {
		words += NF
		ends += gsub(/[.!?]+([ \t)]|$)/, " ")
	}
	END { judge() }' "$@"
}

prose | habits | none 'prose names its actor, in the words of a manual'
wordy 18 README.md HACKING.md |
    none 'sentences of README.md and HACKING.md are short'
done_testing
