// Command objectstore is an object store that speaks S3, over TLS, for tests on kind.
//
// # Purpose
//
// It serves one bucket of package cloud/fake/s3. The name of the bucket, its access key and
// the certificate come from the environment.
//
// # Non-goals
//
// The bucket does not outlive the process.
//
// # Trade-offs
//
// The bucket is in memory, so that nothing has to be cleaned up, and is as large as memory
// permits.
package main
