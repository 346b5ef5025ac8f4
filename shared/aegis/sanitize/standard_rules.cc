// The rules of version RuleSet::kVersion. A change of what they find is a new version; every sample of tests/data/aegis/secrets.tsv must
// still be caught then.
#include <utility>

#include "shared/aegis/sanitize/rules.h"

namespace acl::aegis {
namespace {

using Table = std::vector<Rule>;

// Forms that the makers of services have given their keys so that they can be found.
void AddForges(Table& t) {
  t.push_back({"github-token", "a GitHub token", "gh|github_pat_", R"(\b(?P<v>gh[opsur]_[A-Za-z0-9]{16}|github_pat_\w{16}))", Tail::kWord});
  t.push_back({"gitlab-token", "a GitLab token", "gl", R"(\b(?P<v>gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[\w-]{16}))", Tail::kWord});
  t.push_back({"package-token", "a token of a package registry", "npm_|pypi-|hf_|rubygems_|dckr_pat_|dckr_oat_",
               R"(\b(?P<v>npm_\w{20}|pypi-[\w-]{16}|hf_\w{20}|rubygems_[0-9a-f]{32}|dckr_(?:pat|oat)_[\w-]{16}))", Tail::kWord,
               Check::kMixed});
  t.push_back({"atlassian-token", "an Atlassian token", "atatt3|atctt3", R"(\b(?P<v>AT[AC]TT3[\w-]{20}))", Tail::kBase64});
  t.push_back({"sourcegraph-token", "a Sourcegraph token", "sgp_", R"(\b(?P<v>sgp_(?:[0-9a-f]{16}_)?[0-9a-f]{32}))", Tail::kWord});
  t.push_back({"linear-key", "a Linear key", "lin_", R"(\b(?P<v>lin_(?:api|oauth)_\w{20}))", Tail::kWord});
  t.push_back({"postman-key", "a Postman key", "pmak-", R"(\b(?P<v>PMAK-[0-9a-f]{20}))", Tail::kWord});
}

void AddClouds(Table& t) {
  t.push_back({"aws-key", "an AWS access key", "akia|asia|abia|acca", R"(\b(?P<v>(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b)"});
  t.push_back(
      {"google-key", "a Google API key", "aiza|ya29.|gocspx-", R"(\b(?P<v>AIza[\w-]{30}|ya29\.[\w-]{20}|GOCSPX-[\w-]{20}))", Tail::kWord});
  t.push_back({"azure-key", "an Azure key", "accountkey=|sharedaccesskey=|sig=",
               R"((?i)(?:\b(?:Account|SharedAccess)Key=|[?&]sig=)(?P<v>[\w%+/=-]{20}))", Tail::kBase64});
  t.push_back({"signed-url", "the signature of a signed address", "-signature=", R"((?i)[?&]x-(?:amz|goog)-signature=(?P<v>[0-9a-f]{32}))",
               Tail::kWord});
  t.push_back({"alibaba-key", "an Alibaba Cloud key", "ltai", R"(\b(?P<v>LTAI[A-Za-z0-9]{12,20})\b)", Tail::kNone, Check::kMixed});
  t.push_back({"digitalocean-token", "a DigitalOcean token", "do", R"(\b(?P<v>do[opr]_v1_[0-9a-f]{64}))", Tail::kWord});
  t.push_back({"databricks-token", "a Databricks token", "dapi", R"(\b(?P<v>dapi[0-9a-f]{32}))", Tail::kWord});
  t.push_back({"heroku-key", "a Heroku key", "hrku-", R"(\b(?P<v>HRKU-[\w-]{20}))", Tail::kWord});
  t.push_back({"netlify-token", "a Netlify token", "nfp_", R"(\b(?P<v>nfp_[A-Za-z0-9]{32}))", Tail::kWord});
  t.push_back({"supabase-key", "a Supabase key", "sbp_|sb_secret_", R"(\b(?P<v>sbp_[0-9a-f]{40}|sb_secret_[\w-]{16}))", Tail::kWord});
  t.push_back({"planetscale-key", "a PlanetScale key", "pscale_", R"(\b(?P<v>pscale_(?:tkn|pw|oauth)_[\w-]{16}))", Tail::kBase64});
  t.push_back({"tailscale-key", "a Tailscale key", "tskey-", R"(\b(?P<v>tskey-[a-z]{2,12}-\w{8}))", Tail::kWord});
  t.push_back({"fly-token", "a Fly.io token", "fm1|fm2|fo1_", R"(\b(?P<v>fm\d[a-z]?_[\w+/=-]{40}|fo1_[\w-]{40}))", Tail::kBase64});
  t.push_back({"vault-token", "a HashiCorp Vault token", "hvs.|hvb.|hvr.", R"(\b(?P<v>hv[sbr]\.[\w-]{20}))", Tail::kWord});
  t.push_back({"terraform-token", "a Terraform Cloud token", ".atlasv1.", R"(\b(?P<v>[A-Za-z0-9]{14}\.atlasv1\.[\w-]{20}))", Tail::kWord});
  t.push_back({"pulumi-token", "a Pulumi token", "pul-", R"(\b(?P<v>pul-[0-9a-f]{40}))", Tail::kWord});
  t.push_back({"doppler-token", "a Doppler token", "dp.", R"(\b(?P<v>dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20}))", Tail::kWord});
  t.push_back({"openshift-token", "an OpenShift token", "sha256~", R"((?P<v>\bsha256~[\w-]{32}))", Tail::kWord});
}

void AddServices(Table& t) {
  t.push_back({"slack-token", "a Slack token", "xox|xapp-", R"(\b(?P<v>xox[a-z]-[\w-]{10}|xapp-\d-[\w-]{10}))", Tail::kWord});
  t.push_back({"chat-webhook", "the address of a chat's webhook", "hooks.slack.com|/api/webhooks/",
               R"((?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/(?P<v>\w{6,24}/[\w/-]{8}))",
               Tail::kBase64});
  t.push_back(
      {"discord-token", "a Discord token", ".", R"(\b(?P<v>[MNO][A-Za-z0-9]{23,25}\.[\w-]{6}\.[\w-]{27}))", Tail::kWord, Check::kMixed});
  t.push_back({"telegram-token", "a Telegram bot token", ":aa", R"(\b(?P<v>\d{8,10}:AA[\w-]{30}))", Tail::kWord});
  t.push_back({"stripe-key", "a Stripe key", "k_live_|k_test_", R"(\b(?P<v>[spr]k_(?:live|test)_\w{10}))", Tail::kWord});
  t.push_back({"square-token", "a Square token", "sq0", R"(\b(?P<v>sq0(?:atp|csp|idp)-[\w-]{20}))", Tail::kWord});
  t.push_back({"shopify-token", "a Shopify token", "shp", R"(\b(?P<v>shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}))", Tail::kWord});
  t.push_back({"model-key", "a key of a model provider", "sk-|gsk_|xai-|pplx-|r8_",
               R"(\b(?P<v>sk-[\w-]{16}|gsk_[A-Za-z0-9]{20}|xai-[A-Za-z0-9]{20}|pplx-[A-Za-z0-9]{20}|r8_[A-Za-z0-9]{20}))", Tail::kWord,
               Check::kMixed});
  t.push_back({"sendgrid-key", "a SendGrid key", "sg.", R"(\b(?P<v>SG\.[\w-]{16,64}\.[\w-]{16}))", Tail::kWord});
  t.push_back({"mail-key", "a key of a mail service", "key-|-us", R"(\b(?P<v>key-[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2})\b)"});
  t.push_back({"twilio-key", "a Twilio key", "sk", R"(\b(?P<v>SK[0-9a-f]{32})\b)"});
  t.push_back({"airtable-token", "an Airtable token", "pat", R"(\b(?P<v>pat[A-Za-z0-9]{14}\.[0-9a-f]{64}))", Tail::kWord});
  t.push_back({"notion-token", "a Notion token", "ntn_|secret_", R"(\b(?P<v>ntn_[A-Za-z0-9]{40}|secret_[A-Za-z0-9]{43}))", Tail::kWord});
  t.push_back({"figma-token", "a Figma token", "figd_", R"(\b(?P<v>figd_[\w-]{20}))", Tail::kWord});
  t.push_back({"typeform-token", "a Typeform token", "tfp_", R"(\b(?P<v>tfp_[\w-]{40}))", Tail::kWord});
  t.push_back({"grafana-token", "a Grafana token", "glsa_|glc_", R"(\b(?P<v>glsa_\w{20}|glc_[A-Za-z0-9+/]{32}))", Tail::kBase64});
  t.push_back({"newrelic-key", "a New Relic key", "nrak-|nrii-|nrjs-", R"(\b(?P<v>NR(?:AK|II|JS)-[\w-]{16}))", Tail::kWord});
  t.push_back({"sentry-token", "a Sentry token", "sntry", R"(\b(?P<v>sntry[su]_[\w+/=-]{20}))", Tail::kBase64});
  t.push_back({"dynatrace-token", "a Dynatrace token", "dt0c01.", R"(\b(?P<v>dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{20}))", Tail::kWord});
  t.push_back({"webhook-key", "a webhook key", "whsec_|whsk_", R"(\b(?P<v>whs(?:ec|k)_[A-Za-z0-9+/=_-]{16}))", Tail::kBase64});
  t.push_back({"acl-key", "an API key of ACL", "acl_", R"(\b(?P<v>acl_[0-9a-f]{12}_[0-9a-f]{16}))", Tail::kWord});
  t.push_back({"age-key", "a private key", "age-secret-key-1", R"(\b(?P<v>AGE-SECRET-KEY-1[A-Z0-9]{8}))", Tail::kWord});
}

// What stands in the headers of a request, on a command line or in a file of credentials.
void AddPlaces(Table& t) {
  t.push_back({"jwt", "a JSON web token", "eyj", R"(\b(?P<v>eyJ[\w-]{8,400}\.[\w-]{8}))", Tail::kBase64, Check::kJwt});
  t.push_back({"url-password", "a password in an address or a connection string", "://",
               R"(\b[A-Za-z][\w+.-]{0,20}://[^\s:/@"'<>\x60]{0,80}:(?P<v>[^\s/"'<>\x60]{1,200})@[\w.\[%-])"});
  t.push_back(
      {"url-password", "a token in an address", "://", R"(\bhttps?://(?P<v>[A-Za-z0-9_-]{20,200})@[\w.\[])", Tail::kNone, Check::kMixed});
  t.push_back({"basic-auth", "a name and password in base64", "basic", R"((?i)\bbasic[ \t]{1,4}(?P<v>[A-Za-z0-9+/]{8}))", Tail::kBase64,
               Check::kPair});
  t.push_back(
      {"basic-auth", "a name and password in base64", "auth", R"re("auth" ?: ?"(?P<v>[A-Za-z0-9+/]{8}))re", Tail::kBase64, Check::kPair});
  t.push_back({"bearer-token", "a bearer token", "bearer", R"((?i)\bbearer[ \t]{1,4}(?P<v>[\w.~+/-]{12}))", Tail::kBase64, Check::kMixed});
  t.push_back(
      {"authorization", "the value of an Authorization header", "authorization",
       R"((?i)\b(?:proxy-)?authorization["']?[ \t]{0,2}[:=][ \t]{0,2}["']?(?:[a-z][\w-]{1,20}[ \t]{1,2})?(?P<v>[^\s"'\x60,;(){}<>]{10}))",
       Tail::kBare, Check::kMixed});
  t.push_back({"cookie", "the value of a cookie", "cookie",
               R"((?i)\b(?:set-)?cookie["']?[ \t]{0,2}:[ \t]{0,2}["']?(?P<v>[\w.-]{1,60}=[^\s;"'=]{8}))", Tail::kDouble});
  t.push_back(
      {"command-password", "a password on a command line", " -p",
       R"(\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass|docker login|podman login|helm registry login)\b[^\n]{0,120} -p ?["']?(?P<v>[^\s"'-][^\s"']{3}))",
       Tail::kBare, Check::kSaid});
  t.push_back({"command-password", "a password on a command line", "curl|wget|http",
               R"(\b(?:curl|wget|https?)\b[^\n]{0,200} (?:-u|--user|-a|--auth)[ =]["']?[^\s:"'/]{1,64}:(?P<v>[^\s"']{3}))", Tail::kBare});
  t.push_back({"command-password", "a password on a command line", "redis-cli",
               R"(\bredis-cli\b[^\n]{0,120} -a ["']?(?P<v>[^\s"'-][^\s"']{3}))", Tail::kBare});
  t.push_back(
      {"command-password", "a password on a command line", "--pass|--api|--auth|--access|--secret|--token|--client",
       R"((?i)--(?:password|passwd|passphrase|pass|api-?key|auth-?token|access-?token|access-?key|secret|secret-?key|client-?secret|token)[ =]["']?(?P<v>[^\s"'\x60,;(){}\[\]<>$-][^\s"'\x60,;(){}\[\]<>]{5}))",
       Tail::kBare, Check::kSaid});
  t.push_back({"netrc", "a password of a .netrc file", "password",
               R"((?m)(?:\bmachine[ \t]{1,4}\S{1,100}[ \t]{1,4})?\blogin[ \t]{1,4}\S{1,64}[ \t]{1,4}password[ \t]{1,4}(?P<v>\S{3}))",
               Tail::kBare});
  t.push_back(
      {"netrc", "a password of a .netrc file", "password", R"((?m)^[ \t]{0,8}password[ \t]{1,4}(?P<v>\S{4}))", Tail::kBare, Check::kSaid});
  t.push_back({"pgpass", "a password of a .pgpass file", ":",
               R"((?m)^[\w.*-]{1,100}:(?:\d{2,5}|\*):[A-Za-z_*][\w*-]{0,62}:[A-Za-z_*][\w*-]{0,62}:(?P<v>[^\s:"'`]{3}))", Tail::kBare});
  t.push_back({"npmrc", "a token of an .npmrc file", ":_",
               R"(//[^\s:"']{1,120}:_(?:authToken|auth|password)[ \t]?=[ \t]?"?(?P<v>[^\s"']{6}))", Tail::kBase64});
  t.push_back({"kubeconfig", "a key of a kubeconfig", "-data",
               R"((?:client-key|client-certificate|certificate-authority)-data["']?: ?["']?(?P<v>[A-Za-z0-9+/]{16}))", Tail::kBase64});
  t.push_back(
      {"password-hash", "the hash of a password", "$",
       R"((?P<v>\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{22}|(?:1|5|6|apr1)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,24}\$[./A-Za-z0-9]{4}|y\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{1,80}\$[./A-Za-z0-9]{4}|argon2(?:id|i|d)\$v=\d{1,3}\$m=\d{1,9},t=\d{1,4},p=\d{1,4}\$[A-Za-z0-9+/]{4,64}\$[A-Za-z0-9+/]{4})))",
       Tail::kBase64});
  t.push_back({"otp-secret", "the secret of one-time codes", "otpauth://", R"((?i)otpauth://[^\s"']{1,120}secret=(?P<v>[A-Z2-7]{8}))",
               Tail::kWord});
  t.push_back({"jwk", "a private key as JSON", "kty", R"re("kty"[^\n]{0,250}"d" ?: ?"(?P<v>[\w-]{16}))re", Tail::kWord});
}

// The same where no sign stands between name and value: calls, XML, sentences.
void AddOtherAssignments(Table& t) {
  const char* what = "the value of a password, key or token";
  const std::string strong = "pass ?words?|passwd|pass ?phrase|secrets?|api[_-]?key|access[_-]?key|private[_-]?key";
  t.push_back({"password", what, "pass|secret|key", "(?i)(?P<name>[a-z0-9_.]{0,40}(?:" + strong + R"())\([ ]{0,2}["'](?P<v>[^"'\n]{4}))",
               Tail::kBare, Check::kSaid});
  t.push_back({"password", what, "pw|pass",
               R"((?i)(?:^|[\s"'{,;&?(])(?P<name>pass|pw)["']?[ \t]{0,4}(?:=>|:=|[=:])[ \t]{0,4}["']?(?P<v>[^\s"'\x60,;(){}\[\]<>]{4}))",
               Tail::kBare, Check::kSaid});
  t.push_back({"password", what, "pass|secret|key|token",
               "(?i)<(?P<name>[a-z0-9_.:-]{0,40}(?:" + strong + R"(|token)[a-z0-9_.]{0,20})>(?P<v>[^\s<>&]{4}))", Tail::kBare,
               Check::kSaid});
  t.push_back(
      {"password", what, "value",
       R"((?i)\b(?:key|name)=["'](?P<name>[^"'\n]{0,40}(?:)" + strong + R"()[^"'\n]{0,20})["'][ \t]{1,4}value=["'](?P<v>[^"'\n]{3}))",
       Tail::kBare, Check::kQuoted});
  t.push_back(
      {"command-password", "a password on a command line", "sqlplus", R"(\bsqlplus\b[^\n]{0,60} [\w$#]{1,30}/(?P<v>[^\s@"']{3,64})@)"});
  t.push_back({"password", what, "pass|secret", R"((?i)\b(?P<name>password|passwd|passphrase|secret)[ \t]{1,4}["'](?P<v>[^\s"'\n]{6}))",
               Tail::kSingle, Check::kSaid});
  t.push_back(
      {"password", what, "pass|secret|key",
       R"((?i)\b[\w.]{0,30}(?P<name>password|passphrase|passwd|secret|api ?key|access_key)[ \t]{1,4}["'\x60]?(?P<v>[^\s"'\x60,;(){}\[\]<>=]{10}))",
       Tail::kBare, Check::kChance});
  t.push_back(
      {"password", what, " as ",
       R"((?i)(?:^|[\s"'\x60])(?P<v>[^\s"'\x60]{6,64})["'\x60]? as (?:the|your|my|a|its) (?:password|passphrase|secret|token|api key)\b)",
       Tail::kNone, Check::kSaid});
}

// What is called a secret: name, sign, value.
void AddAssignments(Table& t) {
  const std::string word =
      "pass ?words?|passwd|pass ?phrase|passcode|pwd|[_.-]pass|dbpass|secrets?|credentials?|api[ _.-]?key|access[ _-]?key|auth[ "
      "_-]?key|account[ _-]?key|"
      "private[ _-]?key|signing[ _-]?key|encryption[ _-]?key|master[ _-]?key|preshared[ _-]?key|client[ "
      "_-]?key|[_.-]psk|token|auth[_-]?tok";
  const std::string name = "(?P<name>[a-z0-9_.$-]{0,40}(?:" + word + R"()[a-z0-9_.-]{0,30})\\{0,3}["'\x60]?\]?[ \t]{0,12})";
  const char* needles = "pass|pwd|secret|credential|key|token|psk";
  const std::string sign = R"((?:=>|:=|[=:])[ \t]{0,12})";
  t.push_back({"password", "the value of a password, key or token", needles, R"((?i))" + name + sign + R"(\\{1,3}"(?P<v>[^"\\\n]{3}))",
               Tail::kEscaped, Check::kQuoted});
  t.push_back({"password", "the value of a password, key or token", needles, R"((?i))" + name + sign + R"("(?P<v>(?:[^"\\\n]|\\[^\n]){3}))",
               Tail::kDouble, Check::kQuoted});
  t.push_back({"password", "the value of a password, key or token", needles, R"((?i))" + name + sign + R"(['\x60](?P<v>[^'\x60\n]{3}))",
               Tail::kSingle, Check::kQuoted});
  t.push_back({"password", "the value of a password, key or token", needles,
               R"((?i))" + name + sign + R"((?P<v>[^\s"'\x60;,&<>(){}\[\]\\:=|*][^\s"'\x60;,&<>(){}\[\]\\|]{3}))", Tail::kBare,
               Check::kAssigned});
  t.push_back(
      {"password", "the value of a password, key or token", needles,
       R"re((?i)(?P<name>\b(?:pass ?word|passwd|pass ?phrase|passcode|pwd|(?:api|access|secret|private) key|secret|token))s?(?: (?:for|of|to) [^.:=\n]{1,40}?)? (?:is|was|are)(?: now)?:? ["'\x60]?(?P<v>[^\s"'\x60]{4}))re",
       Tail::kBare, Check::kSaid});
  AddOtherAssignments(t);
}

// Likely enough for a refusal, not for a cut (Use::kRefuse).
void AddLikely(Table& t) {
  const auto add = [&](const char* what, const char* pattern) {
    t.push_back({"likely", what, "", pattern, Tail::kNone, Check::kNone, Use::kRefuse});
  };
  add("a private key", R"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY)");
  add("a webhook", R"(hooks\.slack\.com/services/\w{1,24}/\w)");
  add("a licence key", R"(\b[A-Z0-9]{4,5}(?:-[A-Z0-9]{4,5}){3,8}\b)");
  add("a key of a model provider", R"(\bsk-[\w-]{16})");
  add("a JSON web token", R"(\beyJ[\w-]{8,400}\.[\w-]{8,400}\.)");
  add("a password on a command line",
      R"(\b(?:mysql|mysqldump|mariadb|sshpass)\b[^\n]{0,200} -p ?\S{0,40}\d|\bcurl\b[^\n]{0,200} (?:-u|--user)[ =]\S{1,80}:\S)");
  add("a password",
      R"((?i)\b(?:password|passwd|pwd|passphrase|token|secret|api key|access key|pin)s? ["'\x60]?\S{0,60}(?:[A-Za-z]\S{0,40}\d\S{0,40}[!-/:-@]|\d\S{0,40}[!-/:-@]\S{0,40}[A-Za-z]|[!-/:-@]\S{0,40}\d)\S{2})");
  add("a password or token",
      R"((?i)\b(?:password|passwd|pwd|passphrase|token|secret|(?:api|access|secret|private) key)s? ["'\x60]?(?:[a-z_]{1,40}\d|\d{1,40}[a-z_])\w{0,60}[\w!@#$%&*+]{2,60}["'\x60]?(?:[ .,;)]|$))");
  add("an access code", R"((?i)\b(?:door|entry|alarm|access|security|unlock|safe) codes?\b[^.\n]{0,20}?(?: is|:|=) ?#?\d{4})");
  add("a passphrase",
      R"((?i)\bpass ?phrase\b[^.:=\n]{0,40}?(?: is|:|=) ["']?[a-z]{1,20} [a-z]{1,20} [a-z]{1,20} [a-z]{1,20}\b[^.\n]{0,80}\d)");
}

}  // namespace

std::vector<Rule> StandardRules() {
  Table table;
  AddForges(table);
  AddClouds(table);
  AddServices(table);
  AddPlaces(table);
  AddAssignments(table);
  AddLikely(table);
  return table;
}

}  // namespace acl::aegis
