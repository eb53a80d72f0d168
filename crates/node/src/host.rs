//! The decision flow of one request.
