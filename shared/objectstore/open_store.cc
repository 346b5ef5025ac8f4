#include "shared/objectstore/open_store.h"

namespace acl {

Result<std::shared_ptr<S3Store>> OpenObjectStore(const Settings& settings, const Clock& clock, Metrics* metrics) {
  if (settings.s3_endpoint.empty()) return std::shared_ptr<S3Store>();
  S3Options options;
  options.endpoint = settings.s3_endpoint;
  options.region = settings.s3_region;
  options.bucket = settings.s3_bucket;
  options.path_style = settings.s3_path_style;
  options.credentials = {settings.s3_access_key, settings.s3_secret_key, settings.s3_session_token};
  options.ca_file = settings.s3_ca_file;
  options.timeout = settings.s3_timeout;
  options.connect_timeout = std::min(options.connect_timeout, settings.s3_timeout);
  options.metrics = metrics;
  auto store = S3Store::Make(std::move(options), clock);
  if (!store) return store.error();
  return std::shared_ptr<S3Store>(std::move(*store));
}

}  // namespace acl
