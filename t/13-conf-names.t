# 13-conf-names.t - every name of Squid's language is known, and safe when it does nothing.
#
# Tuning is ignored with a warning; what would open the proxy, leak something or change what is
# allowed stops the start; and what happens anyway is taken in silence.
use Bobtail::Test;

my $base = "http_port 127.0.0.1:0\npid_filename none\nacl lan src 10.0.0.0/8\n";

# Every name, from 2.5 to 8.
my @names = split ' ', <<'NAMES';
access_log accept_filter acl acl_uses_indirect_client adaptation_access adaptation_masterx_shared_names adaptation_meta
adaptation_send_client_ip adaptation_send_username adaptation_service_chain adaptation_service_iteration_limit
adaptation_service_set adaptation_uses_indirect_client adapted_http_access allow_underscore always_direct announce_file
announce_host announce_period announce_port append_domain as_whois_server ascii_port auth_param auth_schemes
authenticate_cache_garbage_interval authenticate_ip_ttl authenticate_ttl background_ping_rate balance_on_multiple_ip
broken_posts broken_vary_encoding buffered_logs cache cache_access_log cache_dir cache_dns_program cache_effective_group
cache_effective_user cache_host_domain cache_log cache_log_message cache_mem cache_mgr cache_miss_revalidate cache_peer
cache_peer_access cache_peer_domain cache_replacement_policy cache_store_log cache_swap_high cache_swap_log cache_swap_low
cache_swap_state cache_vary cachemgr_passwd check_hostnames chroot chunked_request_body_max_size client_db
client_delay_access client_delay_initial_bucket_level client_delay_parameters client_delay_pools client_dst_passthru
client_idle_pconn_timeout client_ip_max_connections client_lifetime client_netmask client_persistent_connections
client_request_buffer_max_size clientside_mark clientside_tos collapsed_forwarding collapsed_forwarding_access
collapsed_forwarding_shared_entries_limit configuration_includes_quoted_values connect_retries connect_timeout coredump_dir
cpu_affinity_map dead_peer_timeout debug_options delay_access delay_class delay_initial_bucket_level delay_parameters
delay_pool_uses_indirect_client delay_pools deny_info detect_broken_pconn digest_bits_per_entry digest_generation
digest_rebuild_chunk_percentage digest_rebuild_period digest_rewrite_period digest_swapout_chunk_size diskd_program
dns_children dns_defnames dns_multicast_local dns_nameservers dns_packet_max dns_retransmit_interval dns_testnames
dns_timeout dns_v4_fallback dns_v4_first ecap_enable ecap_service email_err_data emulate_httpd_log err_html_text
err_page_stylesheet error_default_language error_directory error_log_languages error_map esi_parser eui_lookup
extension_methods external_acl_type external_refresh_check follow_x_forwarded_for force_request_body_continuation
forward_log forward_max_tries forward_timeout forwarded_for fqdncache_size ftp_client_idle_timeout ftp_eprt ftp_epsv
ftp_epsv_all ftp_list_width ftp_passive ftp_port ftp_sanitycheck ftp_telnet_protocol ftp_user global_internal_static
half_closed_clients happy_eyeballs_connect_gap happy_eyeballs_connect_limit happy_eyeballs_connect_timeout header_access
header_replace hierarchy_stoplist high_memory_warning high_page_fault_warning high_response_time_warning
hopeless_kid_revival_delay host_verify_strict hostname_aliases hosts_file htcp_access htcp_clr_access htcp_port http_access
http_access2 http_accel_surrogate_remote http_port http_reply_access http_upgrade_request_protocols httpd_accel_host
httpd_accel_no_pmtu_disc httpd_accel_port httpd_accel_single_host httpd_accel_surrogate_id httpd_accel_uses_host_header
httpd_accel_with_proxy httpd_suppress_version_string https_port icap_206_enable icap_access icap_class
icap_client_username_encode icap_client_username_header icap_connect_timeout icap_default_options_ttl icap_enable
icap_io_timeout icap_log icap_persistent_connections icap_preview_enable icap_preview_size icap_retry icap_retry_limit
icap_service icap_service_failure_limit icap_service_revival_delay icon_directory icp_access icp_hit_stale icp_port
icp_query_timeout ident_lookup_access ident_timeout ie_refresh ignore_expect_100 ignore_ims_on_miss
ignore_unknown_nameservers incoming_dns_average incoming_http_average incoming_icp_average incoming_rate
incoming_tcp_average incoming_udp_average ipcache_high ipcache_low ipcache_size loadable_modules location_rewrite_access
location_rewrite_children location_rewrite_concurrency location_rewrite_program log_access log_fqdn log_icap
log_icp_queries log_ip_on_direct log_mime_hdrs log_uses_indirect_client logfile_daemon logfile_rotate logformat mail_from
mail_program mark_client_connection mark_client_packet max_filedesc max_filedescriptors max_open_disk_fds max_stale
maximum_icp_query_timeout maximum_object_size maximum_object_size_in_memory maximum_single_addr_tries mcast_groups
mcast_icp_query_timeout mcast_miss_addr mcast_miss_encode_key mcast_miss_port mcast_miss_ttl memory_cache_mode
memory_cache_shared memory_pools memory_pools_limit memory_replacement_policy mime_table min_dns_poll_cnt
min_http_poll_cnt min_icp_poll_cnt min_tcp_poll_cnt min_udp_poll_cnt minimum_direct_hops minimum_direct_rtt
minimum_expiry_time minimum_icp_query_timeout minimum_object_size miss_access negative_dns_ttl negative_ttl
neighbor_type_domain netdb_filename netdb_high netdb_low netdb_ping_period never_direct no_cache nonhierarchical_direct
note offline_mode on_unsupported_protocol paranoid_hit_validation pconn_lifetime pconn_timeout peer_connect_timeout
persistent_connection_after_error persistent_request_timeout pid_filename pinger_enable pinger_program pipeline_prefetch
positive_dns_ttl prefer_direct proxy_protocol_access qos_flows query_icmp quick_abort_max quick_abort_min quick_abort_pct
range_offset_limit read_ahead_gap read_timeout redirect_children redirect_program redirect_rewrites_host_header
redirector_access redirector_bypass referer_log refresh_all_ims refresh_pattern refresh_stale_hit relaxed_header_parser
reload_into_ims reply_body_max_size reply_header_access reply_header_add reply_header_max_size reply_header_replace
request_body_max_size request_entities request_header_access request_header_add request_header_max_size
request_header_replace request_start_timeout request_timeout response_delay_pool response_delay_pool_access
retry_on_error send_hit server_http11 server_idle_pconn_timeout server_pconn_for_nonretriable
server_persistent_connections shared_memory_locking shared_transient_entries_limit short_icon_urls shutdown_lifetime
sleep_after_fork snmp_access snmp_incoming_address snmp_outgoing_address snmp_port spoof_client_ip ssl_bump ssl_engine
ssl_unclean_shutdown sslcrtd_children sslcrtd_program sslcrtvalidator_children sslcrtvalidator_program
sslpassword_program sslproxy_cafile sslproxy_capath sslproxy_cert_adapt sslproxy_cert_error sslproxy_cert_sign
sslproxy_cert_sign_hash sslproxy_cipher sslproxy_client_certificate sslproxy_client_key sslproxy_flags
sslproxy_foreign_intermediate_certs sslproxy_options sslproxy_session_cache_size sslproxy_session_ttl sslproxy_version
stats_collection store_avg_object_size store_dir_select_algorithm store_id_access store_id_bypass store_id_children
store_id_extras store_id_program store_miss store_objects_per_bucket storeurl_rewrite_access storeurl_rewrite_bypass
storeurl_rewrite_children storeurl_rewrite_program strip_query_terms tcp_outgoing_address tcp_outgoing_ds
tcp_outgoing_dscp tcp_outgoing_mark tcp_outgoing_tos tcp_recv_bufsize test_reachability tls_key_log tls_outgoing_options
tproxy_uses_indirect_client udp_incoming_address udp_outgoing_address udp_port umask unique_hostname unlinkd_program
update_headers upgrade_http0.9 uri_whitespace url_rewrite_access url_rewrite_bypass url_rewrite_children
url_rewrite_concurrency url_rewrite_extras url_rewrite_host_header url_rewrite_program url_rewrite_timeout useragent_log
vary_ignore_expire via visible_hostname wais_relay_host wais_relay_port wccp2_address wccp2_assignment_method
wccp2_forwarding_method wccp2_rebuild_wait wccp2_return_method wccp2_router wccp2_service wccp2_service_info wccp2_weight
wccp_address wccp_router wccp_version windows_ipaddrchangemonitor workers write_timeout zero_buffers zph_local zph_mode
zph_option zph_parent zph_sibling
NAMES

# Forty at a time, since complaints are not shown without end.
my @unknown;
for (my @left = @names; @left;) {
    my $text = join '', map "$_\n", splice @left, 0, 40;
    push @unknown, parse($base . $text)->{output} =~ /unknown directive '([^']*)'/g;
}
cmp_ok scalar @names, '>', 400, 'there are many names';
is_deeply \@unknown, [], 'each of them is known';
like parse("hierarchy_stoplits x\n")->{output}, qr/did you mean 'hierarchy_stoplist'/,
    'also to whom misspells them';

# What of silence would be unsafe: refused, because of the name and not of a mistake in the line.
sub refused
{
    my ($line) = @_;
    my $said = parse($base . "$line\n");
    my ($name) = split ' ', $line;
    is $said->{status}, 1, "$line: refused";
    like $said->{output}, qr/^\@DIR\@\/bobtail\.conf:4:1: error: $name is not built yet, and to start without/m,
        "$line: is not built";
    is scalar(() = $said->{output} =~ /error:/g), 1, "$line: is well written" or diag $said->{output};
    return;
}
refused($_) for split /\n/, <<'LINES';
icap_enable on
ecap_enable on
mark_client_connection 0x1/0xff lan
ftp_port 127.0.0.1:2121
sslcrtvalidator_program /bin/true
wccp2_router 192.0.2.1
chroot /srv/proxy
LINES

# What happens anyway is taken in silence, all of it at once.
my $harmless = <<'LINES';
http_reply_access allow all
adapted_http_access allow all
miss_access allow all
follow_x_forwarded_for deny all
spoof_client_ip deny all
host_verify_strict off
client_ip_max_connections -1
cachemgr_passwd disable all
url_rewrite_program none
request_header_access X-A allow all
request_body_max_size 0 KB
request_body_max_size none
reply_body_max_size none
delay_pools 0
icap_enable off
ecap_enable off
never_direct deny all
always_direct allow all
ssl_bump splice all
icp_port 0
htcp_port 0
snmp_port 0
icp_access deny all
snmp_access deny lan
memory_cache_shared on
memory_cache_mode always
vary_ignore_expire off
wccp2_router 0.0.0.0
chroot none
pinger_enable off
netdb_filename none
cache_store_log none
half_closed_clients off
LINES
my $said = parse($base . $harmless);
is $said->{status}, 0, 'what happens anyway is no reason to refuse';
unlike $said->{output}, qr/(?:error|warning):/, 'nor to warn' or diag $said->{output};

# Tuning is warned about, once a name, and stops nothing.
my @tuning = split /\n/, <<'LINES';
shared_transient_entries_limit 1000
cache_dir ufs /var/spool/squid 100 16 256 min-size=1 max-size=1000
cache_dir rock /var/spool/squid 100 slot-size=4096
memory_cache_shared off
memory_cache_mode disk
cache_replacement_policy heap LFUDA
vary_ignore_expire on
store_objects_per_bucket 20
memory_pools on
icp_port 3130
snmp_port 3401
icap_service s reqmod_precache bypass=on icap://127.0.0.1:1344/x
icap_service s respmod_precache 0 icap://127.0.0.1:1344/y max-conn=5
icap_service_failure_limit 10 in 30 seconds
adaptation_access s allow lan
minimum_direct_hops 4
cpu_affinity_map process_numbers=1,2 cores=1,3
pipeline_prefetch 3
wccp2_service standard 0 password=x
LINES
my %first;
$said = parse($base . join '', map "$_\n", @tuning);
is $said->{status}, 0, 'tuning stops nothing' or diag $said->{output};
unlike $said->{output}, qr/error:/, 'and is well written';
for (@tuning) {
    my ($name) = split ' ';
    next if $first{$name}++;
    is scalar(() = $said->{output} =~ /warning: \Q$name\E is known and ignored: /g), 1, "$name: one warning";
}

# Mistakes in lines that do nothing are told all the same.
sub mistaken
{
    my ($line, $column, $text) = @_;
    my $said = parse($base . "$line\n");
    is $said->{status}, 1, "$line: refused";
    my @lines = split /\n/, "$line\n";
    my $number = 3 + @lines;
    like $said->{output}, qr/^\@DIR\@\/bobtail\.conf:$number:$column: error: .*$text/m, "$line: told why";
    return;
}
mistaken('cache_peer 127.0.0.1 parent', 1, 'is missing');
mistaken('cache_peer 127.0.0.1 parnet 3128 0', 22, "did you mean 'parent'");
mistaken('cache_peer 127.0.0.1 parent 3128 0 no-qurey', 36, "did you mean 'no-query'");
mistaken('cache_peer 127.0.0.1 parent 3128 0 weight=x', 43, 'a number');
mistaken("cache_peer 127.0.0.1 parent 3128 0 name=p\ncache_peer 127.0.0.1 parent 3129 0  name=p", 37, "named 'p' already");
mistaken("cache_peer 127.0.0.1 parent 3128 0\ncache_peer 127.0.0.1 parent 3129 0", 12, "named '127.0.0.1' already");
mistaken("cache_peer 127.0.0.1 parent 3128 0 name=one\ncache_peer_access onne allow all", 19, "did you mean 'one'");
mistaken('cache_peer_access one allow all', 19, 'no parent');
mistaken('auth_param basic program /no/such/helper x', 26, "'/no/such/helper'");
mistaken('auth_param basic relm x', 18, "did you mean 'realm'");
mistaken('auth_param basic credentialsttl 2 hrs', 35, "'hrs'");
mistaken('auth_param kerberos realm x', 12, 'negotiate');
mistaken('external_acl_type t tll=1 %SRC /bin/true', 21, "did you mean 'ttl'");
mistaken('external_acl_type t %SRC', 1, 'is missing');
mistaken('external_acl_type t /bin/true x', 21, 'format');
mistaken('external_acl_type t %SRC /no/such/helper', 26, "'/no/such/helper'");
mistaken('url_rewrite_program /no/such/helper', 21, "'/no/such/helper'");
mistaken('url_rewrite_children 5 startup=x', 32, 'a number');
mistaken('cache_dir ufs /var 100 16', 1, 'two levels');
mistaken('cache_dir ufss /var 100 16 256', 11, "did you mean 'ufs'");
mistaken('cache_replacement_policy heap LFUD', 31, 'GDSF');
mistaken('refresh_pattern ( 0 20% 1', 17, 'no regular expression');
mistaken('refresh_pattern . 0 20% 1 override-expires', 27, "did you mean 'override-expire'");
mistaken('tcp_outgoing_address 192.0.2.256 lan', 22, 'an IP address');
mistaken('http_reply_access permit all', 19, "did you mean 'allow'");
mistaken('http_reply_access deny lann', 24, 'lan');
mistaken('never_direct allow', 1, 'name of an ACL');
mistaken('request_header_add X-Site "main office', 27, 'not closed');
mistaken('ssl_bump peak all', 10, "did you mean 'peek'");
mistaken('icap_enable yes', 13, "did you mean 'on'");
mistaken('icap_service s reqmod icap://x/y', 16, 'reqmod_precache');
mistaken('icap_service s reqmod_precache icap://x/y bypas=1', 43, "did you mean 'bypass'");
mistaken('https_port 3130 tls-crt=/x', 17, "did you mean 'tls-cert'");
mistaken('tls_outgoing_options min-version=1.9', 34, '1\.0, 1\.1');
done;
