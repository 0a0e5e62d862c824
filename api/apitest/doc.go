// Package apitest builds objects of the API for tests.
//
// # Purpose
//
// The package has builders for kinds that tests create, and returns the samples as objects. A builder
// starts with the smallest object that an API server accepts, so that a test sets only the
// fields that it is about:
//
//	app := apitest.App("my-ecommerce-app").
//		Namespace("production").
//		Database(v1.EnginePostgreSQL, "13.4", "100Gi").
//		Obj()
//
// Golden compares what a test computes with a file that people have read.
//
// # Non-goals
//
// Only tests import the package. It sets no defaults of the schema: the API server sets
// them, and tests of code that reads such fields cover both cases.
//
// # Trade-offs
//
// A builder has methods for the fields that many tests set; With sets the others. Obj
// returns a copy, so that one builder can be the base of several objects.
package apitest
