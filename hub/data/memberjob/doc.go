// Package memberjob runs Jobs in member clusters that work on the data of a database.
//
// # Purpose
//
//   - Create creates a Job and the Secret with its order, WriteOrder renews the Secret, DeleteOrder
//     deletes it, and Stop deletes the Job.
//   - ReadResult returns the state of a Job, from its status, its pods and its events. Ends returns the
//     ended containers.
//   - Sanitize converts an untrusted message to one line.
//
// # Non-goals
//
// The package does not know what a Job does, writes no status, and does not decide what follows from
// a result. Package spoke/render/database/jobs renders the Jobs. It counts no attempts: Kubernetes
// does, by the Job's backoffLimit, podFailurePolicy and activeDeadlineSeconds.
//
// # Trade-offs
//
// The Secret with an order is created before its Job and belongs, as the Job does, to the copy in the
// member. If it belonged to the Job, it would be deleted with it; but then the Job would have to be
// created suspended and changed later, which the hub may not do in members with an agent, or its pod
// would start without the order. So DeleteOrder deletes the Secret when the Job has ended. If the hub dies
// in between, the signed requests in the Secret expire within the hour, and it is deleted with the copy.
//
// WriteOrder deletes and creates a Secret instead of changing it: members with an agent allow the hub no
// more, and a pod that runs keeps the files of the former Secret until the kubelet has the next one.
package memberjob
