// Package archtest holds the house rules as tests: the import law, the size and shape of files, and that
// the generated pages and the code in the written ones are those of the source.
//
// The law is [TestImportLaw]'s table. A package that the table does not know fails the test, so that a new
// package is placed on purpose.
//
// Imports: api and internal/content, for the generated pages.
package archtest
