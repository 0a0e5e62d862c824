// Package ec2 is the API of Amazon EC2, as far as snapshots and volumes go, and of AWS
// STS, in front of a fake.World: what an SDK, boto3 or the command line sends over HTTP.
//
// # Purpose
//
//   - Server is an http.Handler of the query protocol: form in, XML out, with the codes,
//     request IDs and habits of the real one. CreateSnapshot and CopySnapshot make
//     another snapshot each time they are asked; CreateVolume knows a ClientToken.
//   - Requests must be signed with a key that the server knows, for one region; the
//     region of the signature is the region that is asked.
//   - STS tells who a key is, and gives keys that expire to who takes a role.
//   - Provision makes a volume as the EBS CSI driver would.
//
// # Non-goals
//
// No instances: attaching is an edit of the world. A parameter or filter that is not known here is
// refused, never ignored: what a client relies on must have been thought about.
//
// # Trade-offs
//
//   - Signatures are computed and compared, so that a wrong secret is a wrong secret;
//     their date is not, since the clock of a test is not the client's.
//   - The token of a web identity is read and its audience, issuer and expiry checked,
//     but not its signature: whose key it is signed with is no question of ours.
//   - The code for deleting a locked snapshot is not documented anywhere; it is
//     OperationNotPermitted here.
package ec2
