// Package identity is who a session is in Amazon Web Services, and what all of its APIs
// have in common: how requests are sent, and what their errors mean.
//
// # What
//
//   - Connect makes the Credentials of a CloudAccount: the environment and the machine's
//     identity are looked at for Ambient alone; a role is taken on top.
//   - Wire sends what the SDK asks it to, and reads each answer whole.
//   - Failure makes a cloud.Error of one of the SDK's.
//
// # Not
//
// Nothing of EC2 or S3: packages cloud/aws and cloud/aws/objectstore know the codes of theirs.
//
// # Trade-offs
//
//   - Ambient is found here and not by the SDK's own chain, which does not take our HTTP
//     client where AWS_CA_BUNDLE is set. Shared files and single sign-on are left out: a
//     pod has none.
//   - Roles are taken by the SDK's stscreds. What it returns is kept here and not in
//     aws.CredentialsCache, which tells the time by the machine's clock alone, and in which
//     one exchange that hangs holds up everybody who needs it after.
//   - A configured endpoint serves STS as well as EC2, told apart by what is asked. That of
//     a bucket is another.
package identity
