#include "shared/telemetry/otel_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/telemetry/tracer.h"

namespace acl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Environment = std::map<std::string, std::string>;

const std::string kEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";

TEST(OtelConfig, IsOffWithoutAnEndpointOrWhenForbidden) {
  EXPECT_FALSE(ReadOtelConfig({}, "s").on);
  EXPECT_FALSE(ReadOtelConfig({{kEndpoint, ""}}, "s").on);
  EXPECT_TRUE(ReadOtelConfig({{kEndpoint, "http://c:4318"}}, "s").on);
  EXPECT_FALSE(ReadOtelConfig({{kEndpoint, "http://c:4318"}, {"OTEL_SDK_DISABLED", "True"}}, "s").on);
  EXPECT_FALSE(ReadOtelConfig({{kEndpoint, "http://c:4318"}, {"OTEL_TRACES_EXPORTER", "none"}}, "s").on);
  const auto odd = ReadOtelConfig({{kEndpoint, "c:4318"}}, "s");
  EXPECT_FALSE(odd.on);
  EXPECT_EQ(odd.warnings.size(), 1u);
}

TEST(OtelConfig, KnowsWhereToPost) {
  EXPECT_EQ(ReadOtelConfig({{kEndpoint, "http://c:4318/"}}, "s").url, "http://c:4318/v1/traces");
  EXPECT_EQ(ReadOtelConfig({{kEndpoint, "http://c/otlp"}}, "s").url, "http://c/otlp/v1/traces");
  EXPECT_EQ(ReadOtelConfig({{kEndpoint, "http://c"}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d/x"}}, "s").url, "http://d/x");
}

TEST(OtelConfig, ReadsHeadersResourceAndBatches) {
  const auto config = ReadOtelConfig({{kEndpoint, "http://c"},
                                      {"OTEL_EXPORTER_OTLP_HEADERS", " api-key = a%20b ,x=1=2,"},
                                      {"OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=prod,service.name=low"},
                                      {"OTEL_SERVICE_NAME", "high"},
                                      {"OTEL_BSP_MAX_QUEUE_SIZE", "10"},
                                      {"OTEL_BSP_SCHEDULE_DELAY", "77"},
                                      {"OTEL_EXPORTER_OTLP_TIMEOUT", "123"}},
                                     "own");
  EXPECT_THAT(config.headers, ::testing::ElementsAre(std::pair("api-key", "a b"), std::pair("x", "1=2")));
  EXPECT_EQ(config.resource, (Json{{"service.name", "high"}, {"deployment.environment", "prod"}}));
  EXPECT_EQ(config.max_queue, 10);
  EXPECT_EQ(config.max_batch, 10) << "no more than the queue holds";
  EXPECT_EQ(config.delay.count(), 77);
  EXPECT_EQ(config.post_timeout.count(), 123);
  EXPECT_TRUE(config.warnings.empty());
  EXPECT_EQ(ReadOtelConfig({{kEndpoint, "http://c"}}, "own").resource["service.name"], "own");
}

TEST(OtelConfig, TellsWhatMakesNoSenseButNoSecret) {
  const auto config = ReadOtelConfig({{kEndpoint, "http://c"},
                                      {"OTEL_EXPORTER_OTLP_HEADERS", "s3cr3t,a=s3cr3t%0d%0ax"},
                                      {"OTEL_BSP_MAX_QUEUE_SIZE", "many"},
                                      {"OTEL_TRACES_SAMPLER", "sometimes"},
                                      {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}},
                                     "s");
  EXPECT_TRUE(config.headers.empty());
  EXPECT_EQ(config.max_queue, 2048);
  ASSERT_EQ(config.warnings.size(), 5u);
  for (const std::string& warning : config.warnings) EXPECT_THAT(warning, Not(HasSubstr("s3cr3t")));
  EXPECT_THAT(config.warnings, ::testing::Contains(HasSubstr("OTEL_BSP_MAX_QUEUE_SIZE: 'many'")));
}

Tracer TracerOf(const std::string& sampler, const std::string& argument = "") {
  static SystemClock clock;
  auto config =
      ReadOtelConfig({{kEndpoint, "http://127.0.0.1:1"}, {"OTEL_TRACES_SAMPLER", sampler}, {"OTEL_TRACES_SAMPLER_ARG", argument}}, "s");
  EXPECT_TRUE(config.warnings.empty());
  return Tracer(config, Json::object(), clock, nullptr);
}

TEST(Sampler, DecidesByTheCallerOrByTheTrace) {
  const std::string low = "0af7651916cd43dd8400000000000001", high = "0af7651916cd43dd84ffffffffffffff", span = "b7ad6b7169203331";
  const TraceContext root{low, "", true}, yes{low, span, true}, no{low, span, false};
  EXPECT_FALSE(Tracer().Samples(root)) << "off";
  EXPECT_TRUE(TracerOf("").Samples(root));
  EXPECT_TRUE(TracerOf("").Samples(yes));
  EXPECT_FALSE(TracerOf("").Samples(no));
  EXPECT_TRUE(TracerOf("always_on").Samples(no));
  EXPECT_FALSE(TracerOf("always_off").Samples(yes));
  EXPECT_FALSE(TracerOf("parentbased_always_off").Samples(root));
  EXPECT_TRUE(TracerOf("parentbased_always_off").Samples(yes));
  EXPECT_TRUE(TracerOf("traceidratio", "0.5").Samples({low, "", true}));
  EXPECT_FALSE(TracerOf("traceidratio", "0.5").Samples({high, "", true}));
  EXPECT_TRUE(TracerOf("parentbased_traceidratio", "0").Samples(yes));
  EXPECT_FALSE(TracerOf("parentbased_traceidratio", "0").Samples(root));
  EXPECT_TRUE(TracerOf("traceidratio", "1").Samples({high, "", true}));
  EXPECT_FALSE(TracerOf("always_on").Samples({"", "", true})) << "belongs to no trace";
}

}  // namespace
}  // namespace acl
