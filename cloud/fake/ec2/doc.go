// Package ec2 serves a fake.Cloud as Amazon EC2, as far as snapshots and reads of volumes go, and AWS STS.
//
// # Purpose
//
//   - Server handles the query protocol with the error codes and request IDs of EC2. CreateSnapshot and
//     CopySnapshot create another snapshot for each request.
//   - Requests must be signed with a known key. The region of the signature selects the region.
//   - A request is authorized for each of its resources by the policy of its key (iam.Policy): what
//     exists by its tags, and what is created by the tags of the request, which need ec2:CreateTags.
//     A copy with a key that may not be used is accepted, and fails.
//   - STS returns the identity of a key, and temporary keys for roles.
//   - Provision creates a volume as the EBS CSI driver does.
//
// # Non-goals
//
// There are no instances: tests attach volumes by editing the Cloud. Unknown parameters and filters are
// refused, never ignored.
//
// # Trade-offs
//
//   - Signatures are verified, but not their date: the clock of a test is not the client's.
//   - The audience, issuer and expiry of a web identity token are verified, but not its signature.
//   - Amazon does not document the error code for deleting a locked snapshot; OperationNotPermitted is
//     used.
package ec2
