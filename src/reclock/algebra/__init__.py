"""Values every layer shares: timestamps, ids, relation types, updates. Pure; imports nothing of the
package but errors."""
