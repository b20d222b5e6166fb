/* ca.c - bobtail-ca, which is `bobtailctl ca`: makes the authority that signs for bumped hosts, shows it,
 * and gives its certificate to those who install it on clients.
 *
 * A program of its own, so that bobtailctl needs no OpenSSL, nor anybody a running server. What it
 * makes is one PEM file with certificate and key, as a port takes it. It never writes over a file.
 *
 * Exit status as bobtailctl's: 0; 1: the file is there, but not good; 2: it cannot be done.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "pem.h"

enum { FINE = 0, BAD = 1, UNABLE = 2 };
enum { DAYS = 3652, DAYS_MAX = 36500, NAME_MAX_LEN = 64, SERIAL_BYTES = 20, DAY_S = 24 * 3600 };

static const char *const place = SYSCONFDIR "/ca.pem"; /* without a word about where */

static struct {
    const char *name;
    long days;
    long rsa; /* bits; 0: ECDSA */
    bool der;
} options = {.days = DAYS};

static int unable(int status, const char *format, ...) BT_PRINTF(2, 3);
static int unable(int status, const char *format, ...)
{
    va_list args;

    fputs("bobtailctl: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

static int help(void)
{
    printf(
        "Usage: bobtailctl ca COMMAND [FILE]\n\n"
        "  init [FILE]    make an authority that signs in the place of bumped hosts' own: its\n"
        "                 certificate and key, in one new file that only its owner can read\n"
        "      --name NAME    as clients show it; \"Bobtail CA of HOST\" without it\n"
        "      --days N       until it expires; %d without it\n"
        "      --rsa[=BITS]   an RSA key, of 2048 bits, for clients that know no ECDSA; forging takes\n"
        "                     six times as long with it\n"
        "  show [FILE]    whose it is, its fingerprint, when it expires; status 1: it cannot sign\n"
        "  export [FILE]  its certificate alone, as PEM, for clients; --der: not as text\n\n"
        "FILE is %s without it.\n",
        DAYS, place);
    return FINE;
}

/* ---- what it is like ---- */

static void print_date(const char *what, const ASN1_TIME *date)
{
    struct tm tm;
    char text[32];

    if (ASN1_TIME_to_tm(date, &tm) == 1 && strftime(text, sizeof text, "%Y-%m-%d", &tm) > 0)
        printf("  %-12s %s", what, text);
}

static void print_name(const char *what, const X509_NAME *name)
{
    BIO *out = BIO_new(BIO_s_mem());
    char *text;
    long len;

    if (out == NULL)
        return;
    X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB);
    len = BIO_get_mem_data(out, &text);
    printf("  %-12s %.*s\n", what, (int)len, text);
    BIO_free(out);
}

static void print_digest(const char *what, const X509 *cert, const EVP_MD *by)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    X509_digest(cert, by, digest, &len);
    printf("  %-12s ", what);
    for (unsigned i = 0; i < len; i++)
        printf("%s%02X", i > 0 ? ":" : "", digest[i]);
    putchar('\n');
}

static void print_ca(const struct pem *pem)
{
    const X509 *cert = pem->cert;
    int days = 0, seconds = 0;

    print_name("subject", X509_get_subject_name(cert));
    if (X509_NAME_cmp(X509_get_subject_name(cert), X509_get_issuer_name(cert)) != 0)
        print_name("signed by", X509_get_issuer_name(cert));
    printf("  %-12s %s, %d bits\n", "key",
           EVP_PKEY_get_base_id(pem->key) == EVP_PKEY_RSA ? "RSA" : "ECDSA",
           EVP_PKEY_get_bits(pem->key));
    print_digest("SHA-256", cert, EVP_sha256());
    print_digest("SHA-1", cert, EVP_sha1());
    print_date("since", X509_get0_notBefore(cert));
    putchar('\n');
    print_date("expires", X509_get0_notAfter(cert));
    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert)) == 1)
        printf(days > 0 || seconds > 0 ? ", in %d days\n" : ", %d days ago\n", abs(days));
}

static void print_what_next(const char *file)
{
    printf(
        "\nWho can read %s can pose as any site to all who trust it: keep it where it is, and to\n"
        "yourself. In the configuration:\n\n"
        "    http_port 3128 ssl-bump tls-cert=%s\n"
        "    ssl_bump stare all\n"
        "    ssl_bump bump all\n\n"
        "Clients need its certificate, which is no secret:\n\n"
        "    bobtailctl ca export %s > bobtail-ca.crt\n\n"
        "  Debian, Ubuntu  copy it to /usr/local/share/ca-certificates/, run update-ca-certificates\n"
        "  Fedora, RHEL    copy it to /etc/pki/ca-trust/source/anchors/, run update-ca-trust\n"
        "  macOS           security add-trusted-cert -d -k /Library/Keychains/System.keychain "
        "bobtail-ca.crt\n"
        "  Windows         certutil -addstore -f Root bobtail-ca.crt (as administrator)\n"
        "  Firefox         Settings, Certificates, View Certificates, Authorities, Import\n"
        "  Android, iOS    open the file (ca export --der) on the device, then trust it in the "
        "settings\n"
        "  programs        SSL_CERT_FILE, REQUESTS_CA_BUNDLE, NODE_EXTRA_CA_CERTS, curl --cacert\n",
        file, file, file);
}

/* ---- init ---- */

static bool extend(X509 *cert, int nid, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *ext;
    bool done;

    X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
    X509V3_set_ctx_nodb(&context);
    ext = X509V3_EXT_nconf_nid(NULL, &context, nid, value);
    done = ext != NULL && X509_add_ext(cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return done;
}

static bool name_set(X509 *cert)
{
    char text[NAME_MAX_LEN + 1], host[NAME_MAX_LEN] = "";
    X509_NAME *name = X509_get_subject_name(cert);

    gethostname(host, sizeof host - 1);
    if (options.name != NULL)
        snprintf(text, sizeof text, "%s", options.name);
    else
        snprintf(text, sizeof text, "Bobtail CA%s%.50s", host[0] != '\0' ? " of " : "", host);
    return X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                                      (const unsigned char *)text, -1, -1, 0) == 1 &&
           X509_set_issuer_name(cert, name) == 1;
}

static bool serial_set(X509 *cert)
{
    uint8_t bytes[SERIAL_BYTES];
    BIGNUM *number = NULL;
    bool done = RAND_bytes(bytes, sizeof bytes) == 1;

    if (done) {
        bytes[0] = (uint8_t)((bytes[0] & 0x7f) | 0x40);
        number = BN_bin2bn(bytes, sizeof bytes, NULL);
        done = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    }
    BN_free(number);
    return done;
}

/* Its leaves are the end: no other authority may come below it. */
static bool make(struct pem *pem)
{
    X509 *cert = X509_new();
    time_t now = time(NULL);

    *pem = (struct pem){.cert = cert};
    pem->key = options.rsa > 0 ? EVP_RSA_gen((unsigned)options.rsa) : EVP_EC_gen("P-256");
    return cert != NULL && pem->key != NULL && X509_set_version(cert, X509_VERSION_3) == 1 &&
           serial_set(cert) && name_set(cert) &&
           ASN1_TIME_adj(X509_getm_notBefore(cert), now, -1, 0) != NULL && /* clocks are late */
           ASN1_TIME_adj(X509_getm_notAfter(cert), now, (int)options.days, 0) != NULL &&
           X509_set_pubkey(cert, pem->key) == 1 &&
           extend(cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           extend(cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           extend(cert, NID_subject_key_identifier, "hash") &&
           X509_sign(cert, pem->key, EVP_sha256()) > 0;
}

/* A new file, and only for its owner from its first byte on. */
static int write_file(const char *file, const struct pem *pem)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool done;

    if (out == NULL && errno == EEXIST)
        return unable(
            UNABLE,
            "%s is there already; if clients are to get to know another authority, move it "
            "away first",
            file);
    if (out == NULL)
        return unable(UNABLE, "%s: %s%s", file, strerror(errno),
                      errno == EACCES ? "; make it as the user that starts the server" : "");
    done = fchmod(fd, 0600) == 0 && PEM_write_X509(out, pem->cert) == 1 &&
           PEM_write_PKCS8PrivateKey(out, pem->key, NULL, NULL, 0, NULL, NULL) == 1 &&
           fflush(out) == 0 && fsync(fd) == 0;
    if (fclose(out) == 0 && done)
        return FINE;
    unlink(file);
    return unable(UNABLE, "%s cannot be written: %s", file, strerror(errno));
}

static int init(const char *file)
{
    struct pem pem;
    int status;

    if (options.name != NULL && (options.name[0] == '\0' || strlen(options.name) > NAME_MAX_LEN))
        return unable(UNABLE, "--name: a name has 1 to %d bytes", NAME_MAX_LEN);
    if (!make(&pem)) {
        pem_free(&pem);
        return unable(UNABLE, "no authority can be made: OpenSSL refused (%s)",
                      ERR_reason_error_string(ERR_peek_last_error()));
    }
    status = write_file(file, &pem);
    if (status == FINE) {
        char *whole = realpath(file, NULL); /* the configuration's folder is another */

        printf("%s is made.\n\n", file);
        print_ca(&pem);
        print_what_next(whole != NULL ? whole : file);
        free(whole);
    }
    pem_free(&pem);
    return status;
}

/* ---- show and export ---- */

static int show(const char *file)
{
    struct pem_says says;
    struct stat about;
    struct pem pem;
    int status = FINE;

    if (!pem_load(file, NULL, &pem, &says))
        return unable(UNABLE, "%s", says.text);
    print_ca(&pem);
    for (int i = 0; i < sk_X509_num(pem.chain); i++)
        print_name("and above", X509_get_subject_name(sk_X509_value(pem.chain, i)));
    if (stat(file, &about) == 0 && (about.st_mode & 077) != 0)
        unable(FINE, "%s: others than its owner may read the key (mode %03o); chmod 600 it", file,
               (unsigned)about.st_mode & 0777);
    if (!pem_is_ca(&pem, file, (int64_t)time(NULL), &says))
        status = unable(BAD, "%s", says.text);
    pem_free(&pem);
    return status;
}

static int export(const char *file)
{
    struct pem_says says;
    struct pem pem;
    bool done;

    if (options.der && isatty(STDOUT_FILENO))
        return unable(UNABLE, "--der is no text; send it to a file: > bobtail-ca.cer");
    if (!pem_load(file, NULL, &pem, &says))
        return unable(UNABLE, "%s", says.text);
    done = (options.der ? i2d_X509_fp(stdout, pem.cert) : PEM_write_X509(stdout, pem.cert)) == 1 &&
           fflush(stdout) == 0;
    pem_free(&pem);
    return done ? FINE : unable(UNABLE, "the certificate cannot be written: %s", strerror(errno));
}

/* ---- the command line ---- */

static bool number(const char *text, long from, long to, long *out)
{
    char *end;

    errno = 0;
    *out = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *out >= from && *out <= to;
}

static bool options_read(int argc, char **argv)
{
    static const struct option words[] = {{"name", required_argument, NULL, 'n'},
                                          {"days", required_argument, NULL, 'd'},
                                          {"rsa", optional_argument, NULL, 'r'},
                                          {"der", no_argument, NULL, 'D'},
                                          {NULL, 0, NULL, 0}};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", words, NULL)) != -1)
        switch (option) {
        case 'n':
            options.name = optarg;
            break;
        case 'd':
            if (number(optarg, 1, DAYS_MAX, &options.days))
                break;
            return unable(false, "--days: a number from 1 to %d", DAYS_MAX);
        case 'r':
            options.rsa = 2048;
            if (optarg == NULL || number(optarg, 2048, 8192, &options.rsa))
                break;
            return unable(false, "--rsa: 2048 to 8192 bits");
        case 'D':
            options.der = true;
            break;
        default:
            return unable(false,
                          "ca: '%s' is no option, or lacks its value; try: bobtailctl ca help",
                          argv[optind - 1]);
        }
    return true;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*run)(const char *file);
    } commands[] = {{"init", init}, {"show", show}, {"export", export}};
    const char *file, *word;

    if (!options_read(argc, argv))
        return UNABLE;
    word = optind < argc ? argv[optind] : "help";
    file = optind + 1 < argc ? argv[optind + 1] : place;
    if (optind + 2 < argc)
        return unable(UNABLE, "ca %s takes one file, not %s as well", word, argv[optind + 2]);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].word, word) == 0)
            return commands[i].run(file);
    if (strcmp(word, "help") == 0)
        return help();
    return unable(UNABLE, "ca has no command \"%s\"; there are init, show and export", word);
}
