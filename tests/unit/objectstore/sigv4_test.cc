// The values of AWS's published vectors: the S3 guide's examples of May 2013 and the SigV4 test suite of August 2015.
#include "shared/objectstore/sigv4.h"

#include <gtest/gtest.h>

#include "shared/base/sha256.h"

namespace acl::sigv4 {
namespace {

const std::string kEmptyHash = ToHex(Sha256(""));
const Credentials kGuide{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
const Credentials kSuite{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};

Scope GuideScope() { return {*ParseWallTime("2013-05-24T00:00:00Z"), "us-east-1", "s3"}; }
Scope SuiteScope() { return {*ParseWallTime("2015-08-30T12:36:00Z"), "us-east-1", "service"}; }

Request OfGuide(std::string method, std::string path) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.payload_hash = kEmptyHash;
  request.headers = {{"host", "examplebucket.s3.amazonaws.com"}, {"x-amz-content-sha256", kEmptyHash}, {"x-amz-date", "20130524T000000Z"}};
  return request;
}

Request OfSuite(std::string method, std::string path = "/") {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.payload_hash = kEmptyHash;
  request.headers = {{"host", "example.amazonaws.com"}, {"x-amz-date", "20150830T123600Z"}};
  return request;
}

std::string SignatureOf(const Request& request, const Scope& scope, const Credentials& credentials) {
  const std::string header = Authorization(request, scope, credentials);
  return header.substr(header.find("Signature=") + 10);
}

TEST(SigV4, S3GuideGetObject) {
  Request request = OfGuide("GET", "/test.txt");
  request.headers["range"] = "bytes=0-9";
  EXPECT_EQ(ToHex(Sha256(CanonicalRequest(request))), "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
  EXPECT_EQ(Authorization(request, GuideScope(), kGuide),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4, S3GuidePutObject) {
  Request request = OfGuide("PUT", "/test$file.text");
  request.payload_hash = request.headers["x-amz-content-sha256"] = ToHex(Sha256("Welcome to Amazon S3."));
  request.headers["date"] = "Fri, 24 May 2013 00:00:00 GMT";
  request.headers["x-amz-storage-class"] = "REDUCED_REDUNDANCY";
  EXPECT_EQ(request.payload_hash, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_EQ(ToHex(Sha256(CanonicalRequest(request))), "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d");
  EXPECT_EQ(SignatureOf(request, GuideScope(), kGuide), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SigV4, S3GuideQueries) {
  Request lifecycle = OfGuide("GET", "/");
  lifecycle.query = {{"lifecycle", ""}};
  EXPECT_EQ(SignatureOf(lifecycle, GuideScope(), kGuide), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  Request list = OfGuide("GET", "/");
  list.query = {{"prefix", "J"}, {"max-keys", "2"}};  // in another order than the canonical one
  EXPECT_EQ(CanonicalQuery(list.query), "max-keys=2&prefix=J");
  EXPECT_EQ(SignatureOf(list, GuideScope(), kGuide), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4, SuiteVanillaAndKey) {
  EXPECT_EQ(SignatureOf(OfSuite("GET"), SuiteScope(), kSuite), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(SignatureOf(OfSuite("POST"), SuiteScope(), kSuite), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  const Scope iam{SuiteScope().at, "us-east-1", "iam"};
  EXPECT_EQ(ToHex(SigningKey(iam, kSuite.secret_key)), "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9");
}

TEST(SigV4, SuiteOrderOfQueryUnreservedAndUtf8) {
  Request query = OfSuite("GET");
  query.query = {{"Param2", "value2"}, {"Param1", "value1"}};
  EXPECT_EQ(SignatureOf(query, SuiteScope(), kSuite), "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  const std::string unreserved = "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  EXPECT_EQ(SignatureOf(OfSuite("GET", unreserved), SuiteScope(), kSuite),
            "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
  EXPECT_EQ(SignatureOf(OfSuite("GET", "/\u1234"), SuiteScope(), kSuite),
            "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
}

TEST(SigV4, SuiteTrimsHeaderValues) {
  Request request = OfSuite("GET");
  request.headers["my-header1"] = " value1";
  request.headers["my-header2"] = " \"a   b   c\"";
  EXPECT_EQ(SignatureOf(request, SuiteScope(), kSuite), "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
}

TEST(SigV4, EveryPartIsBound) {
  const Request base = OfGuide("GET", "/a");
  const std::string signature = SignatureOf(base, GuideScope(), kGuide);
  Request other = base;
  other.path = "/b";
  EXPECT_NE(SignatureOf(other, GuideScope(), kGuide), signature);
  other = base;
  other.headers["if-none-match"] = "*";
  EXPECT_NE(SignatureOf(other, GuideScope(), kGuide), signature);
  Scope scope = GuideScope();
  scope.region = "eu-central-1";
  EXPECT_NE(SignatureOf(base, scope, kGuide), signature);
}

}  // namespace
}  // namespace acl::sigv4
