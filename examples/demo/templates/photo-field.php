<?php

declare(strict_types=1);

use Caravan\Model\Photos;

use function Caravan\e;

/**
 * @var array<string, string> $problems
 * @var int $photoBytes
 */

$problem = $problems['photo'] ?? null;
?>
<div class="field">
<label for="photo">Photo</label>
<input type="hidden" name="MAX_FILE_SIZE" value="<?= $photoBytes ?>">
<input type="file" id="photo" name="photo" accept="<?= e(implode(',', Photos::TYPES)) ?>"
 aria-describedby="photo-hint<?= $problem === null ? '' : ' photo-problem' ?>">
<p class="hint" id="photo-hint">JPEG, PNG, GIF or WebP, at most <?= e(sprintf('%.1f', $photoBytes / 1048576)) ?>
MB.</p>
<?php if ($problem !== null) : ?>
<p class="problem" id="photo-problem"><?= e($problem) ?></p>
<?php endif ?>
</div>
