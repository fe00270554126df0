"""Files to begin with. Each can be used after its comments were followed."""

_HEAD = """\
# {title}
#
# Every daemon has this same file and its own name:  antiphon daemon --config FILE --name one
# After a change:  antiphon config check FILE
# To try it on one machine, write 127.0.0. for 192.0.2. everywhere.

[cluster]
name = "{name}"                       # daemons of another name are refused
# Daemons on a network encrypt what they say to each other. Make the key once, and copy it to
# all machines, next to this file:  antiphon keys new cluster.key
key_file = "cluster.key"
"""

_DAEMON = """
[[daemon]]
name = "{name}"
address = "192.0.2.{number}:4813"          # UDP, for the other daemons
clients = ["192.0.2.{number}:4803"]        # TCP, for clients
"""

_DAEMONS = "".join(
    _DAEMON.format(name=name, number=number)
    for number, name in enumerate(("one", "two", "three"), 1)
)

_LAN = (
    _HEAD.format(title="Three daemons on one LAN.", name="lab")
    + _DAEMONS
    + """
[network]
preset = "lan"                     # timeouts for a LAN, where an answer takes less than a ms
packet_bytes = "auto"              # or 8900 if all of the network takes jumbo frames
# multicast = "239.192.0.7:4814"   # used where it is found to work

[records]
level = "views"                    # off, views, all
max_bytes = "1GiB"
max_age = "7d"

[log]
format = "text"                    # or json
"""
)

_PLACES = (("one", "east"), ("two", "east"), ("three", "west"), ("four", "north"))

_WAN = (
    _HEAD.format(title="Four daemons in three sites, far from each other.", name="far")
    + "".join(
        _DAEMON.format(name=name, number=number) + f'site = "{site}"\n'
        for number, (name, site) in enumerate(_PLACES, 1)
    )
    + """
[network]
preset = "lan"                     # inside a site
packet_bytes = 1200                # passes through tunnels

[overlay]
weights = "static"                 # or measured, by round trip and loss
shape = "free"                     # shortest ways by weights; or fan-out, tree, chain, ring

# Sites are joined by links that share lines with other traffic, and find out how fast they may be.
[hop]
rate = "auto"                      # or "10Mbit", where a line is ours alone

# What is different between two sites. Messages between east and north go by west.
[[edge]]
between = ["east", "north"]
weight = 5                         # of any other edge: 1
rate_max = "20Mbit"
dead = "5s"                        # a line that is often away for a while

[limits]
backlog = 20000                    # a client may be further behind before it is cut off
"""
)

_SECURE = (
    _HEAD.format(title="Three daemons whose clients must say who they are.", name="vault")
    + _DAEMONS
    + """
[clients]
# A line for each client: its name, a space, its secret. To make one:
#   (umask 077; echo "ops $(openssl rand -hex 32)" >> tokens)
tokens_file = "tokens"
# Secrets should not cross a network in the clear. With a certificate, clients speak TLS:
# tls_certificate = "daemon.crt"
# tls_key = "daemon.key"
# tls_client_ca = "clients.crt"    # and may show certificates of their own
unix_mode = "0660"                 # the Unix socket is for its owner and its group
admin = ["uid:0", "token:ops"]     # who may stop, reload and partition

# The first rule whose group and client both match decides; what no rule is about is allowed.
[[access]]
group = "orders.*"
who = ["token:shop-*", "token:ops"]
may = ["join", "send"]

[[access]]
group = "orders.*"
who = ["uid:*"]
may = ["join"]                     # local users may listen

[[access]]
group = "*"
who = ["token:ops"]
may = ["join", "send"]

[[access]]
group = "*"
who = ["*"]
may = []                           # all else is forbidden
"""
)

EXAMPLES = {"lan": _LAN, "wan": _WAN, "secure": _SECURE}
