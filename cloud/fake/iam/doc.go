// Package iam decides what an identity may do by the policies and roles that cloud/README.md
// prints.
//
// # Purpose
//
//   - Read returns the documents of cloud/README.md, so that what the fakes enforce is what a
//     reader of the page grants.
//   - Policy evaluates identity-based policies of AWS: Action, Resource and Condition of
//     statements that allow or deny. A request is evaluated once for each resource that it
//     concerns, as EC2 does.
//   - Role evaluates the actions and data actions of a custom role of Azure, and Permissions
//     the permissions of a custom role of Google Cloud.
//   - Log collects what was refused, so that a contract case can require that nothing was.
//
// # Non-goals
//
// There are no resource-based policies, permission boundaries, session policies, principals,
// variables, NotAction or NotResource: a document that uses one is refused by Read.
//
// # Trade-offs
//
//   - An operator or element that is not known is an error and never ignored, since an ignored
//     condition allows too much.
//   - The fakes allow everything to an identity without documents, so that the demo runs
//     without the page.
package iam
