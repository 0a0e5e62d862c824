package objectstore

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws/apierror"
	"github.com/shopfleet/shopfleet/cloud/aws/identity"
)

// client is the bucket of one account.
type client struct {
	clock clock.PassiveClock
	s3    *s3.Client
	sign  *s3.PresignClient
	// credentials are invalidated when they are not accepted any more.
	credentials *aws.CredentialsCache
	bucket      string
	// prefix is the prefix of the account's keys, including its trailing slash; or empty.
	prefix string
}

// Open creates the ObjectStore of an account. It sends nothing. Errors are of class
// Invalid and name the field of the CloudAccount.
func Open(_ context.Context, config cloud.Config) (cloud.ObjectStore, error) {
	if err := check(config); err != nil {
		return nil, err
	}
	storage := config.Spec.ObjectStorage
	config.Region = storage.Region // Of the token service, too.
	credentials, err := identity.Connect(config)
	if err != nil {
		return nil, err
	}
	signer := timed{signer: v4.NewSigner(), clock: config.Clock}
	api := s3.New(s3.Options{
		Region: storage.Region, Credentials: credentials, BaseEndpoint: identity.Endpoint(storage.Endpoint), UsePathStyle: storage.Endpoint != "",
		HTTPClient: apierror.NewWire(config.HTTP, checkAnswer), HTTPSignerV4: signer, Retryer: aws.NopRetryer{},
		// What the signature says of a body is enough, and all that every service knows.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		DisableClockSkewCorrection: true,
	})
	c := &client{
		clock: config.Clock, s3: api, credentials: credentials, bucket: storage.Bucket,
		sign: s3.NewPresignClient(api, func(o *s3.PresignOptions) { o.Presigner = signer }),
	}
	if storage.Prefix != "" {
		c.prefix = storage.Prefix + "/"
	}
	return c, nil
}

// check validates the configuration of a bucket.
func check(config cloud.Config) error {
	if err := identity.Check(config); err != nil {
		return err
	}
	storage := config.Spec.ObjectStorage
	switch {
	case storage == nil:
		return identity.Misconfigured("spec.objectStorage: required")
	case !regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$`).MatchString(storage.Bucket):
		return identity.Misconfigured("spec.objectStorage.bucket: must be 3 to 63 of a-z, 0-9 and . _ -")
	case !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString(storage.Region):
		return identity.Misconfigured("spec.objectStorage.region: required, the name of a region")
	case storage.Prefix != "" && cloud.CheckKey(storage.Prefix) != nil:
		return identity.Misconfigured("spec.objectStorage.prefix: must be letters, digits and . _ - / without slashes at its ends")
	case !identity.GoodEndpoint(storage.Endpoint):
		return identity.Misconfigured("spec.objectStorage.endpoint: must be an https URL without user, query or fragment, or http on a loopback address")
	}
	return nil
}

// headerChecksum is the header of the checksum of an object.
const headerChecksum = "X-Amz-Checksum-Crc32c"

// timed signs with the time of a clock, and not with the time that the SDK passes.
type timed struct {
	signer *v4.Signer
	clock  clock.PassiveClock
}

// SignHTTP implements s3.HTTPSignerV4.
func (t timed) SignHTTP(
	ctx context.Context, credentials aws.Credentials, r *http.Request, payload, service, region string, _ time.Time, options ...func(*v4.SignerOptions),
) error {
	return t.signer.SignHTTP(ctx, credentials, r, payload, service, region, t.clock.Now().UTC(), options...)
}

// PresignHTTP implements s3.HTTPPresignerV4.
func (t timed) PresignHTTP(
	ctx context.Context, credentials aws.Credentials, r *http.Request, payload, service, region string, _ time.Time, options ...func(*v4.SignerOptions),
) (string, http.Header, error) {
	if r.Header.Get(headerChecksum) != "" {
		// S3 ignores a checksum in the URL, where the signer would move it.
		options = append(options, func(o *v4.SignerOptions) { o.DisableHeaderHoisting = true })
	}
	return t.signer.PresignHTTP(ctx, credentials, r, payload, service, region, t.clock.Now().UTC(), options...)
}
