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
//   - Signatures are computed here. The SDK takes the name of the account from the host, which is
//     wrong for private endpoints, and always signs for its newest version of the service. Signatures
//     are for one version that every cloud and Microsoft's emulator support; the emulator verifies
//     them in the tests.
//   - Signatures have no start time, so that they work on members whose clock is slow. The key is
//     valid from a quarter of an hour ago for the same reason.
//   - No checksum is sent: the connection uses TLS, and dumps have checksums of their own.
package objectstore
