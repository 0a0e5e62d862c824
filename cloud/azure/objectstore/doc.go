// Package objectstore implements cloud.ObjectStore for Azure Blob Storage. A bucket is a container of a
// storage account.
//
// # Purpose
//
//   - Open creates Objects for the container at https://<storageAccount>.blob.core.windows.net, or
//     at the configured endpoint.
//   - An object is a block blob, created by one Put Blob with If-None-Match: *.
//   - Signed requests are shared access signatures of a user delegation key. Each allows one
//     operation on one blob: c, which creates a blob, or r. The service refuses c for an existing
//     blob with 403 UnauthorizedBlobOverwrite, whatever the headers are. The key is reused until it
//     would expire before a signature.
//
// # Permissions
//
// The identity needs the role Storage Blob Data Contributor on the container, and Storage Blob
// Delegator on the storage account to sign requests. An error of class Denied has the missing
// permission as its code.
//
// # Non-goals
//
// Account keys are not used. A request is repeated only if the token had expired. Versions of blobs
// are not deleted: deleted blobs remain for the retention period of the account.
//
// # Trade-offs
//
//   - Signatures are computed here, and keys requested, in 200 lines. GetUserDelegationCredential and
//     BlobSignatureValues of azblob 1.8.1 would save about 80, but sign for the version 2026-12-06 of
//     the service only: with another Version they still sign the fields of that one, which TestVersions
//     shows to be refused. Sovereign clouds get a version later, and the emulator that verifies the
//     signatures in the tests knows none of 2026. The SDK takes the name of the account from the
//     first label of the host, so that an IP address or a name of one's own gives a signature of another
//     account. A key that lacks a field ends the process when it signs. And it keeps no key.
//   - Signatures have no start time, so that they work on members whose clock is slow. The key is
//     valid from a quarter of an hour ago for the same reason.
//   - No checksum is sent: the connection uses TLS, and dumps have checksums of their own.
package objectstore
