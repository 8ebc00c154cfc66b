# Settings that are only ever updated in place: no edit of a value here replaces or deletes anything.

locals {
  settings = {
    banner   = "Welcome"
    timezone = "UTC"
  }
}

resource "terraform_data" "settings" {
  input = local.settings
}

output "settings" {
  description = "The settings as applied."
  value       = terraform_data.settings.output
}
