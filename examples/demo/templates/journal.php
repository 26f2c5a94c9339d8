<?php

declare(strict_types=1);

use Caravan\Model\Entry;

/**
 * @var list<Entry> $entries
 * @var int $total
 * @var int $page
 * @var int $pages
 */
?>
<h1>The journal</h1>
<p class="lead"><?= $total ?> entries from the road between Jaipur and the sea, newest first.</p>
<?php require __DIR__ . '/cards.php'; ?>
<?php if ($pages > 1) : ?>
<nav class="pages" aria-label="Pages of the journal">
<?php if ($page > 1) : ?>
<a rel="prev" href="/journal?page=<?= $page - 1 ?>">Newer</a>
<?php endif ?>
<span>Page <?= $page ?> of <?= $pages ?></span>
<?php if ($page < $pages) : ?>
<a rel="next" href="/journal?page=<?= $page + 1 ?>">Older</a>
<?php endif ?>
</nav>
<?php endif ?>
