// Stands in for a room that has no source file yet, so that its library exists.
namespace tollgate {}
